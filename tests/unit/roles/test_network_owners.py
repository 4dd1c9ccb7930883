"""What configures a rail besides its role, and the files that take it over. The cases are in tests/cases/network_owners."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from support.filters import filter_plugin
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

RULES = filter_plugin("network_owners")
PORTS = filter_plugin("port_use")
SCRIPT = ROOT / "roles" / "shared" / "files" / "network_owners.py"
CASES: dict[str, dict[str, Any]] = load_yaml((ROOT / "tests" / "cases" / "network_owners" / "cases.yml").read_text())
ROWS = [{"device": "mlx5_0", "address": "10.4.0.7/31"}, {"device": "mlx5_1"}]
NETPLAN = "/etc/netplan/95-clusterctl-roce.yaml"
NETWORK = "/etc/systemd/network/05-clusterctl-roce.network"
UDEV = "/etc/udev/rules.d/89-clusterctl-roce-unmanaged.rules"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="the role gives its files to root")


def port(address: str, **state: str) -> dict[str, str]:
    return {"mac": address, "driver": "mlx5_core", "networkd": "", "network_manager": "", **state}


def document(files: dict[str, str], **states: dict[str, str]) -> dict[str, Any]:
    devices = {
        "mlx5_0": ("0000:18:00.0", "ens10np0", "94:6d:ae:00:00:0a"),
        "mlx5_1": ("0000:3d:00.0", "ens11np0", "94:6d:ae:00:00:0b"),
        "mlx5_2": ("0000:29:00.1", "eno1", "94:6d:ae:00:00:ff"),
    }
    return {
        "files": files,
        "devices": {d: {"address": a, "interfaces": {i: port(m, **states.get(i, {}))}} for d, (a, i, m) in devices.items()},
    }


@pytest.mark.parametrize("name", CASES)
def test_other_owners_of_rails(name: str) -> None:
    case = CASES[name]
    node = document(case["files"])
    assert RULES.lines(RULES.owners(node, ROWS, {}, "roce")) == [s if isinstance(s, str) else _pair(s) for s in case["lines"]]
    text = RULES.takeover_texts(node, ROWS, {}, "roce")[NETPLAN]
    assert sorted((load_yaml(text) or {"network": {"ethernets": {}}})["network"]["ethernets"]) == case.get("netplan", [])


def _pair(line: dict[str, str]) -> str:
    """`mlx5_0: text` without quotes is a mapping in YAML."""
    return ": ".join(next(iter(line.items())))


def test_a_takeover_names_the_cards_by_their_address() -> None:
    texts = RULES.takeover_texts(document({}), ROWS, {"mlx5_1": "0000:3d:00.0"}, "roce")
    assert texts[NETPLAN] == ""
    assert texts[NETWORK].splitlines()[1:] == ["[Match]", "Path=pci-0000:18:00.0", "Path=pci-0000:3d:00.0", "", "[Link]", "Unmanaged=yes"]
    assert texts[UDEV].splitlines()[1] == 'ACTION!="remove", SUBSYSTEM=="net", KERNELS=="0000:18:00.0", ENV{NM_UNMANAGED}="1"'
    assert all("0000:29:00.1" not in text for text in texts.values()), "management keeps its manager"


def test_a_rail_is_found_by_its_address_before_it_has_its_name() -> None:
    rows = [{"device": "mlx5_r0", "address": "10.4.0.7/31"}]
    files = {"/etc/netplan/a.yaml": "network: {ethernets: {ens10np0: {dhcp4: true}}}\n"}
    found = RULES.owners(document(files), rows, {"mlx5_r0": "0000:18:00.0"}, "roce")
    assert [(f["device"], f["interface"]) for f in found] == [("mlx5_r0", "ens10np0")]
    assert RULES.owners(document(files), rows, {"mlx5_r0": "0000:5e:00.0"}, "roce") == []


@pytest.mark.parametrize(
    ("states", "left"),
    [
        ({}, []),
        ({"ens10np0": {"networkd": "configuring"}}, ["ens10np0"]),
        ({"ens10np0": {"networkd": "unmanaged"}, "ens11np0": {"network_manager": "100 (connected)"}}, ["ens11np0"]),
        ({"ens10np0": {"network_manager": "10 (unmanaged)"}, "eno1": {"networkd": "configured"}}, []),
    ],
)
def test_a_manager_gives_an_interface_up_at_the_next_boot(states: dict[str, dict[str, str]], left: list[str]) -> None:
    assert RULES.still_managed(document({}, **states), ROWS, {}) == left


def test_networkd_tells_ports_of_ipoib_from_those_of_ethernet() -> None:
    rows, files = [{"device": "mlx5_0"}], {"/etc/systemd/network/20-ib.network": "[Match]\nType=infiniband\n[Network]\nDHCP=yes\n"}
    ipoib = document(files, ens10np0={"mac": ":".join(["00"] * 20)})
    assert len(RULES.owners(ipoib, rows, {}, "infiniband")) == 1
    assert RULES.owners(document(files), rows, {}, "roce") == []


LEASE = {"ifname": "ens10np0", "addr_info": [{"local": "192.0.2.9", "prefixlen": 24, "dynamic": True}]}
STATIC = {"ifname": "ens10np0", "addr_info": [{"local": "192.0.2.9", "prefixlen": 24}]}
VIA_RAIL = {"dst": "default", "gateway": "192.0.2.1", "dev": "ens10np0", "protocol": "dhcp"}
VIA_ENO1 = {"dst": "default", "gateway": "10.1.0.1", "dev": "eno1", "protocol": "static"}


@pytest.mark.parametrize(
    ("interface", "routes", "refused"),
    [
        (LEASE, [], False),
        (STATIC, [], True),
        (LEASE, [VIA_RAIL, VIA_ENO1], False),
        (LEASE, [VIA_RAIL], True),
        (LEASE, [{**VIA_RAIL, "protocol": "static"}, VIA_ENO1], True),
    ],
)
def test_what_dhcp_gave_may_go_but_not_the_only_default_route(interface: dict[str, Any], routes: list[Any], refused: bool) -> None:
    node = {
        "devices": {"mlx5_0": {"interfaces": ["ens10np0"]}},
        "interfaces": [interface],
        "default_routes": routes,
        "ssh_connection": "",
        "ssh_route": [],
        "settings": {"roce": {}, "infiniband": {}},
    }
    assert bool(PORTS.uses(node, ["mlx5_0"], [], [], True)) == refused
    assert PORTS.uses(node, ["mlx5_0"], [], []), "without a takeover every address counts"


def test_the_script_reads_files_and_states(tmp_path: Path) -> None:
    files = {
        "etc/netplan/50-cloud-init.yaml": "network: {}\n",
        "run/systemd/network/10-netplan-ens10np0.network": "[Match]\nName=ens10np0\n",
        "etc/systemd/network/05-x.network": "[Match]\nName=x\n",
        "etc/network/interfaces": "auto lo\n",
        "etc/network/interfaces.d/50-cloud-init": "auto ens10np0\n",
        "sys/class/net/ens10np0/ifindex": "7\n",
        "sys/class/net/ens10np0/address": "94:6D:AE:00:00:0A\n",
        "run/systemd/netif/links/7": "# private\nADMIN_STATE=configuring\nOPER_STATE=carrier\n",
        "sys/devices/pci0000:15/0000:18:00.0/net/ens10np0/dev_port": "0\n",
        "sys/bus/pci/drivers/mlx5_core/new_id": "",
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    function = tmp_path / "sys/devices/pci0000:15/0000:18:00.0"
    (function / "driver").symlink_to("../../../bus/pci/drivers/mlx5_core")
    (tmp_path / "sys/class/net/ens10np0/device").symlink_to("../../../devices/pci0000:15/0000:18:00.0")
    (tmp_path / "sys/class/infiniband/mlx5_0").mkdir(parents=True)
    (tmp_path / "sys/class/infiniband/mlx5_0/device").symlink_to("../../../devices/pci0000:15/0000:18:00.0")
    done = subprocess.run([sys.executable, str(SCRIPT), str(tmp_path)], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert sorted(found["files"]) == ["/etc/netplan/50-cloud-init.yaml", "/etc/systemd/network/05-x.network"]
    assert found["devices"] == {
        "mlx5_0": {
            "address": "0000:18:00.0",
            "interfaces": {
                "ens10np0": {"mac": "94:6d:ae:00:00:0a", "driver": "mlx5_core", "networkd": "configuring", "network_manager": ""}
            },
        }
    }
    ifup = tmp_path / "usr/sbin/ifup"
    ifup.parent.mkdir(parents=True)
    ifup.write_text("")
    done = subprocess.run([sys.executable, str(SCRIPT), str(tmp_path)], capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)["files"]) - set(found["files"]) == {
        "/etc/network/interfaces",
        "/etc/network/interfaces.d/50-cloud-init",
    }
