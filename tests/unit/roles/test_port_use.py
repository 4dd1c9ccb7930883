"""A port that carries an address nobody declared, a default route or our SSH connection is not changed without consent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from support.filters import filter_plugin
from support.local_play import run_play
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

RULES = filter_plugin("port_use")
SCRIPT = ROOT / "roles" / "shared" / "files" / "port_use.py"
CASES: dict[str, dict[str, Any]] = load_yaml((ROOT / "tests" / "cases" / "port_use" / "cases.yml").read_text())
NODE = {
    "devices": {
        "mlx5_0": {"address": "0000:18:00.0", "interfaces": ["ens9np0"]},
        "mlx5_1": {"address": "0000:2a:00.0", "interfaces": ["ens10np0"]},
    },
    "settings": {"roce": {}, "infiniband": {}},
}


@pytest.mark.parametrize("name", CASES)
def test_uses_of_a_port(name: str) -> None:
    case = CASES[name]
    document = NODE | {
        "interfaces": case["interfaces"],
        "default_routes": case.get("routes", []),
        "ssh_connection": case.get("ssh", ""),
        "ssh_route": case.get("ssh_route", []),
        "settings": case.get("settings", NODE["settings"]),
    }
    found = RULES.uses(document, case.get("devices", ["mlx5_1", "mlx5_1"]), case.get("declared", []), case.get("consent", []))
    assert [[use["device"], use["interface"], use["address"]] for use in found] == case["uses"]


def test_a_refusal_names_device_interface_address_and_reason() -> None:
    use = {
        "device": "mlx5_1",
        "interface": "bond0",
        "address": "10.4.0.7/24",
        "reason": "bond0 has the address 10.4.0.7/24, which no role declared",
    }
    assert RULES.refusals([use]) == ["mlx5_1: bond0 has the address 10.4.0.7/24, which no role declared"]


def test_a_port_that_has_its_settings_is_left_alone() -> None:
    found = [{"device": d, "reason": "in use"} for d in ("mlx5_1", "mlx5_10")]
    assert RULES.refusals(found, ["mlx5_10 mtu: 1500, declared 9000", ""]) == ["mlx5_10: in use"]
    assert RULES.refusals(found, []) == []


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """Two devices, one with an interface, an `ip` that answers, and settings of the role roce."""
    for name, address, interfaces in (("mlx5_0", "0000:18:00.0", ["ens9np0"]), ("mlx5_1", "0000:2a:00.0", [])):
        function = tmp_path / "sys/devices/pci0000:00" / address
        (function / "net").mkdir(parents=True)
        for interface in interfaces:
            (function / "net" / interface).mkdir()
        device = tmp_path / "sys/class/infiniband" / name
        device.mkdir(parents=True)
        (device / "device").symlink_to(function)
    settings = tmp_path / "etc/clusterctl/roce.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"table_base": 100, "rails": [{"device": "mlx5_0", "rail": 0, "address": "10.4.0.7/31"}]}))
    (settings.parent / "infiniband.json").write_text("{")
    ip = tmp_path / "bin/ip"
    ip.parent.mkdir()
    ip.write_text(
        '#!/bin/sh\ncase "$*" in\n'
        """*addr*) echo '[{"ifname":"ens9np0","addr_info":[{"local":"10.4.0.7","prefixlen":31}]},{"ifname":"eth0","addr_info":[]},{}]';;\n"""
        """*"-4 route show"*) echo '[{"dst":"default","gateway":"10.1.0.1","dev":"eth0"}]';;\n"""
        """*"route get 10.7.0.1"*) echo '[{"dst":"10.7.0.1","dev":"eth0"}]';;\n"""
        "*get*) echo 'RTNETLINK answers: Invalid argument' >&2; exit 2;;\n"
        "esac\n"
    )
    ip.chmod(0o755)
    return tmp_path


def collected(node: Path, ssh: str = "", *, dropped: bool = False) -> dict[str, Any]:
    environment = {k: v for k, v in os.environ.items() if k != "SSH_CONNECTION"} | {"PATH": f"{node}/bin:{os.environ['PATH']}"}
    argv = [sys.executable, "-c", SCRIPT.read_text(), str(node)]
    if ssh and not dropped:
        environment["SSH_CONNECTION"] = ssh
    if dropped:  # as sudo does it: only a process above has the variable
        (node / "proc").symlink_to("/proc")
        argv = ["env", f"SSH_CONNECTION={ssh}", "sh", "-c", 'env -u SSH_CONNECTION "$@"; exit $?', "sh", *argv]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60, check=True)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_the_node_is_read(node: Path) -> None:
    document = collected(node, "10.7.0.1 50000 10.1.0.7 22")
    assert document["devices"] == {
        "mlx5_0": {"address": "0000:18:00.0", "interfaces": ["ens9np0"]},
        "mlx5_1": {"address": "0000:2a:00.0", "interfaces": []},
    }
    assert [row["ifname"] for row in document["interfaces"]] == ["ens9np0", "eth0"]
    assert document["default_routes"] == [{"dst": "default", "gateway": "10.1.0.1", "dev": "eth0"}]
    assert document["ssh_route"] == [{"dst": "10.7.0.1", "dev": "eth0"}]
    assert document["settings"] == {
        "roce": {"table_base": 100, "rails": [{"device": "mlx5_0", "rail": 0, "address": "10.4.0.7/31"}]},
        "infiniband": {},
    }
    assert RULES.uses(document, ["mlx5_0", "mlx5_1"], [], []) == []


def test_the_connection_of_a_run_with_sudo_is_that_of_a_process_above(node: Path) -> None:
    assert collected(node, "10.7.0.1 50000 10.4.0.7 22", dropped=True)["ssh_connection"] == "10.7.0.1 50000 10.4.0.7 22"


def test_without_a_connection_there_is_no_route(node: Path) -> None:
    document = collected(node)
    assert (document["ssh_connection"], document["ssh_route"]) == ("", [])


def test_a_client_without_a_route_is_no_failure(node: Path) -> None:
    assert collected(node, "fe80::2%ens9np0 50000 fe80::1%ens9np0 22")["ssh_route"] == []


SETTINGS_SCRIPT = "import sys\nprint('mlx5_0 mtu: 1500, declared 9000')\nsys.exit(1)\n"


# Name -> the script that compares settings, the devices that may be cut off, and whether the change is refused; each is a host of one play.
REFUSALS: dict[str, tuple[str | None, list[str], bool]] = {
    "differs": (SETTINGS_SCRIPT, [], True),
    "no_script": (None, [], True),
    "has_its_settings": ("import sys", [], False),
    "consent": (SETTINGS_SCRIPT, ["mlx5_0"], False),
    "the_script_fails": ("import sys; sys.exit('no answer')", [], True),
}


@pytest.mark.parametrize("check", [False, True], ids=["run", "check mode"])
def test_the_tasks_refuse(node: Path, *, check: bool) -> None:
    (node / "etc/clusterctl/roce.json").unlink()
    # The document is that of the files above: the script gets the root of the node as its last argument.
    wrapped = node / "python3"
    wrapped.write_text(f'#!/bin/sh\nif [ $# = 2 ]; then exec "{sys.executable}" "$@" "{node}"; fi\nexec "{sys.executable}" "$@"\n')
    wrapped.chmod(0o755)
    hosts = {
        name: {
            "shared_ports_consent": consent,
            **({"shared_ports_script": script, "shared_ports_settings": {"rails": []}} if script else {}),
        }
        for name, (script, consent, _) in REFUSALS.items()
    }
    (node / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts}}))
    done = run_play(
        node,
        [{"ansible.builtin.include_role": {"name": "shared", "tasks_from": "port_use.yml"}}],
        *["-i", str(node / "hosts.json"), *(["--check"] if check else [])],
        variables={
            "shared_ports_devices": ["mlx5_0"],
            "shared_ports_consent_name": "roce_ports_in_use_consent",
            "ansible_python_interpreter": str(wrapped),
        },
        environment={"PATH": f"{node}/bin:{os.environ['PATH']}"},
        keywords={"hosts": "all:!localhost"},
    )
    failed = {name: line for name in hosts for line in done.output.splitlines() if line.startswith(f"fatal: [{name}]")}
    assert set(failed) == {name for name, (_, _, refused) in REFUSALS.items() if refused}, done.output
    for name in ("differs", "no_script"):
        assert "mlx5_0: ens9np0 has the address 10.4.0.7/31, which no role declared" in failed[name]
        assert "roce_ports_in_use_consent" in failed[name]
    assert "no answer" in failed["the_script_fails"]
    assert "which no role declared" not in failed["the_script_fails"]


def test_ip_over_infiniband_is_compared_before_it_is_installed(tmp_path: Path) -> None:
    script = (ROOT / "roles" / "infiniband" / "files" / "clusterctl_infiniband.py").read_text()
    declared = filter_plugin("infiniband_rules").settings({"infiniband_ports": [], "infiniband_ipoib": [{"device": "mlx5_0"}]})
    argv = [sys.executable, "-c", script, "check", "--root", str(tmp_path), "--declared", json.dumps(declared)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "mlx5_0 interface: none, declared one\n", "")
