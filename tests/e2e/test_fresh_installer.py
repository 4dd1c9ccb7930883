"""A node as an installer leaves it, from new to admitted by one `provision`: nothing on it is as the profile of its board expects."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Self

import pytest
import yaml

from clusterctl_lab.fresh_installer import installer_state
from clusterctl_lab.simulator.hardware_kinds import HGX_H100_ROCE
from support.demo_rack import DemoRack, FinishedCommand
from support.lab_ssh import LabSsh
from support.plain_yaml import load_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.containers, pytest.mark.slow, pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed")]

NUMBER = 96
NODE = f"r{NUMBER}-n01"
INSTALLED = installer_state()
DECLARED_KERNEL = "6.8.0-1046-nvidia"
RAILS = range(len(HGX_H100_ROCE.hca_addresses))
NETWORKS = "10.96.0.0/12"
# What an operator declares for this machine: its adapters by PCI address, who owns their interfaces, the kernel, and the firewall that stays on.
SITE = {
    "hardware_hcas": [
        {"name": f"mlx5_r{i}", "pci": pci, "rail": i, "link_layer": "Ethernet", "rate_gbps": 400, "gpu": i}
        for i, pci in enumerate(HGX_H100_ROCE.hca_addresses)
    ],
    "roce_rails": [{"device": f"mlx5_r{i}", "rail": i, "address": f"10.{100 + i}.{NUMBER}.11/24"} for i in RAILS],
    "roce_rails_takeover": True,
    "nccl_settings": {"NCCL_IB_HCA": "=" + ",".join(f"mlx5_r{i}" for i in RAILS), "NCCL_IB_GID_INDEX": 3, "NCCL_IB_TC": 106},
    "kernel_release": DECLARED_KERNEL,
    "os_tuning_firewall_off": False,
    "os_tuning_firewall_trusted": [NETWORKS],
    # What can cut the node off, and the drivers. The others, and gates that need a second node, are applied to new nodes by the demo flow.
    "node_roles": ["hardware", "bios", "kernel", "os_tuning", "ofed", "roce", "nvidia_driver"],
    "gates_levels": {level: ["dcgm_diag"] for level in ("quick", "standard", "full")},
}
# The upgrade of the first boot lasts until a role has waited for it so long; as its unit, and as what waits, show themselves on the node.
WAITED_S = 5
UPGRADE = "apt-daily-upgrade.service"
LAST_LONG = (
    f"sed -i 's/ {INSTALLED['package_lock_s']}$/ 1800/' /etc/systemd/system/{UPGRADE}; systemctl daemon-reload; systemctl restart {UPGRADE}"
)
SSH_FAILED = 255  # ssh(1)
LOST_S = 30
LOOK = f"""cat /proc/sys/kernel/random/boot_id; uname -r; systemctl is-active {UPGRADE}
pgrep -fc 'no other progra[m] uses the package manager'"""


@dataclass(frozen=True)
class Contact:
    """One attempt to reach the node by SSH; no boot id if it failed. `waits`: a role waits for the upgrade of the first boot."""

    boot_id: str = ""
    release: str = ""
    waits: bool = False


class Watch:
    """Connects to the node again and again while a command runs, and ends the upgrade of its first boot when a role has waited for it."""

    def __init__(self, ssh: LabSsh) -> None:
        self.contacts: list[Contact] = []
        self._ssh = ssh
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        since = 0.0
        while not self._over.wait(1):
            contact = self._contact()
            since = since or (time.monotonic() if contact.waits else 0.0)
            self.contacts.append(contact)
            if contact.waits and time.monotonic() > since + WAITED_S:
                self._ssh(NODE, f"systemctl stop {UPGRADE}", check=False)

    def _contact(self) -> Contact:
        words = self._ssh.argv(NODE, LOOK)
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=LOST_S, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:  # a connection that a reboot left behind
            return Contact()
        if done.returncode == SSH_FAILED:
            return Contact()
        boot_id, release, upgrade, waiting = (done.stdout.split() + [""] * 4)[:4]
        return Contact(boot_id, release, upgrade == "active" and waiting != "0")

    def outages_within_a_boot(self) -> list[str]:
        """The boots during which an attempt failed between two that succeeded."""
        ids = [c.boot_id for c in self.contacts]
        up = [i for i, boot in enumerate(ids) if boot]
        return [ids[a] for a, b in pairwise(up) if b > a + 1 and ids[a] == ids[b]]

    def releases(self) -> list[str]:
        """The kernel of each boot, in order."""
        return list(dict.fromkeys({c.boot_id: c.release for c in self.contacts if c.boot_id}.values()))


@dataclass
class Provisioned:
    """The node after its first run."""

    rack: DemoRack
    ssh: LabSsh
    watch: Watch
    netplan: str
    first: FinishedCommand

    def roles(self) -> list[list[str]]:
        """The roles that ran tasks before the first reboot, after it, and so on; in order."""
        found: list[list[str]] = [[]]
        for file in sorted(self.rack.state_dir.glob("runs/*-provision-*/ansible/*/events.jsonl")):
            if file.parent.name.endswith("-reboot"):
                found.append([])
                continue
            rows = [json.loads(line) for line in file.read_text().splitlines()]
            found[-1] += dict.fromkeys(r["role"] for r in rows if r["role"] and r["status"] != "skipped" and "arg spec" not in r["task"])
        return found


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provisioned]:
    site = tmp_path_factory.mktemp("site")
    rack = DemoRack(site, NUMBER)
    declared = site / "hosts.yml"
    declared.write_text(yaml.safe_dump({"all": {"hosts": {NODE: SITE}}}))
    rack.write_site(str(declared))
    ssh = LabSsh(rack.state_dir)
    try:
        rack.lab_up("--nodes", "1", "--hardware", HGX_H100_ROCE.name, "--fresh-installer")
        netplan = ssh(NODE, f"cat {INSTALLED['netplan']}")
        ssh(NODE, LAST_LONG)
        with Watch(ssh) as watch:
            first = rack.clusterctl("provision", rack.target, "--level", "quick", "--yes", "-o", "json")
        yield Provisioned(rack, ssh, watch, netplan, first)
    finally:
        rack.clusterctl("lab", "down", rack.target)


def test_one_provision_admits_the_node(node: Provisioned) -> None:
    assert node.first.code == 0, node.first.err
    assert node.rack.states() == {NODE: "admitted"}


def test_ssh_is_lost_by_reboots_alone(node: Provisioned) -> None:
    assert node.watch.outages_within_a_boot() == []
    assert len(node.watch.contacts) > 10


def test_the_declared_kernel_boots_before_a_driver_is_built_for_the_installers(node: Provisioned) -> None:
    assert node.watch.releases() == [INSTALLED["kernel"], DECLARED_KERNEL]
    installers, declared, *_ = node.roles()
    assert installers[-1] == "kernel"
    assert declared[-3:] == ["ofed", "roce", "nvidia_driver"]


def test_the_roles_waited_for_the_upgrade_of_the_first_boot(node: Provisioned) -> None:
    assert any(c.waits for c in node.watch.contacts)


def test_no_reboot_started_from_the_network(node: Provisioned) -> None:
    boots = len({c.boot_id for c in node.watch.contacts if c.boot_id})
    assert boots > 2
    log = node.rack.ok("bmc", NODE, "-o", "json").json["nodes"][0]["log"]
    (first,) = (entry for entry in log if "network" in entry["message"])
    assert first["id"] == log[-1]["id"] == "1", "the installer's own boot"


def test_the_rails_have_one_owner_and_the_installers_file_is_as_it_was(node: Provisioned) -> None:
    assert "ens10np0" in node.netplan
    assert node.ssh(NODE, f"cat {INSTALLED['netplan']}") == node.netplan
    taken = load_yaml(node.ssh(NODE, "cat /etc/netplan/95-clusterctl-roce.yaml"))["network"]["ethernets"]
    assert sorted(taken) == [f"ens{10 + i}np0" for i in RAILS], "else each boot waits two minutes for them"
    assert node.ssh(NODE, "cat /run/systemd/netif/links/* | grep ADMIN_STATE=").split() == ["ADMIN_STATE=unmanaged"] * len(RAILS)


def test_management_kept_its_adapter_and_the_firewall_is_on(node: Provisioned) -> None:
    own = INSTALLED["management"]
    assert node.ssh(NODE, f"ls /sys/bus/pci/devices/{own['address']}/infiniband") == own["name"]
    assert "ETH(2)" not in node.ssh(NODE, f"mlxconfig -d {own['address']} -e query LINK_TYPE_P1")
    assert node.ssh(NODE, "systemctl is-active firewalld; firewall-cmd --zone=trusted --list-sources").split() == ["active", NETWORKS]
