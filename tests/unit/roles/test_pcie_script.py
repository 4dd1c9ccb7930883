"""The script of role pcie on the simulated configuration space of a node."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator import hardware_kinds, machine, pseudo_files, sysfs_pci
from support.checks import write_files
from support.lab_machine import simulate_hardware
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl_lab.simulator.hardware import Hardware

SCRIPT = ROOT / "roles" / "pcie" / "files" / "clusterctl-pcie"
KINDS = pytest.mark.parametrize("kind", hardware_kinds.KINDS.values(), ids=list(hardware_kinds.KINDS))
# setpci -s ADDRESS ECAP_ACS+6.w[=VALUE] on the files of the simulated node.
SETPCI = """#!/bin/sh
file=$ROOT/sys/bus/pci/devices/$2/config
[ "$(od -An -tx1 -j256 -N1 "$file")" = " 0d" ] || exit 1
case $3 in
  *=*) printf "\\\\$(printf %o $((0x${3#*=} & 255)))" | dd of="$file" bs=1 seek=262 conv=notrunc 2>/dev/null ;;
  *) echo "00$(od -An -tx1 -j262 -N1 "$file" | tr -d ' ')" ;;
esac
"""


class Node:
    """A node on which the ports have ACS on, as a kernel with the IOMMU leaves them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        pseudo_files.write_files(str(root / "sys"), sysfs_pci.files(set(), acs=True))
        pseudo_files.make_links(str(root / "sys"), sysfs_pci.links(set()))
        # No container and no virtual machine.
        self.program("systemd-detect-virt", "#!/bin/sh\nexit 1\n")
        self.program("setpci", SETPCI)
        self.program("id", "#!/bin/sh\necho 0\n")

    def program(self, name: str, text: str) -> None:
        write_files(self.root, {f"/bin/{name}": text})
        (self.root / "bin" / name).chmod(0o755)

    def run(self, mode: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": f"{self.root}/bin:{os.environ['PATH']}", "ROOT": str(self.root)}
        return subprocess.run(["sh", str(SCRIPT), mode, str(self.root)], capture_output=True, text=True, check=False, env=environment)

    def on(self) -> set[str]:
        """The ports whose register is not zero."""
        devices = self.root / "sys/bus/pci/devices"
        at = slice(sysfs_pci.ACS_CONTROL, sysfs_pci.ACS_CONTROL + 2)
        return {d.name for d in devices.iterdir() if any((d / "config").read_bytes()[at])}


@KINDS
def test_every_port_above_a_gpu_or_hca_is_cleared_and_no_other(kind: Hardware, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulate_hardware(kind, monkeypatch)
    node = Node(tmp_path)
    hcas = (*kind.hca_addresses, *(address for _, address in kind.switch_hcas))
    above = {port for address in (*kind.gpu_addresses, *hcas) for port in sysfs_pci.ports_of(address)} & node.on()
    others = node.on() - above
    assert above
    assert bool(others) is bool(kind.nvswitch_addresses)
    done = node.run("check")
    assert (done.returncode, {line.split()[0] for line in done.stdout.splitlines()}) == (1, above)
    assert node.on() == above | others, "check changes nothing"
    assert (node.run("apply").returncode, node.on()) == (0, others)
    assert (node.run("check").returncode, node.run("check").stdout) == (0, "")


def test_a_reset_of_the_switch_is_repaired(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.run("apply")
    port = sysfs_pci.ports_of(machine.THIS.gpu_addresses[3])[-1]
    config = tmp_path / "sys/bus/pci/devices" / port / "config"
    space = bytearray(config.read_bytes())
    space[sysfs_pci.ACS_CONTROL] = 0x1D
    config.write_bytes(space)
    assert node.run("check").stdout == f"{port} redirects traffic between devices\n"
    assert node.run("apply").returncode == 0
    assert node.run("check").returncode == 0


def test_a_port_that_keeps_its_value_is_a_failure(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.program("setpci", SETPCI.replace("*=*) ", "*=*) exit 0; "))
    assert node.run("apply").returncode == 1


def test_a_virtual_machine_keeps_its_ports(tmp_path: Path) -> None:
    node = Node(tmp_path)
    before = node.on()
    node.program("systemd-detect-virt", '#!/bin/sh\n[ "$1" = --vm ]\n')
    assert node.run("apply").returncode == 0
    assert node.on() == before
    # A container in it is that machine's own affair: lab nodes are such.
    node.program("systemd-detect-virt", "#!/bin/sh\nexit 0\n")
    assert node.run("apply").returncode == 0
    assert node.on() < before


@pytest.mark.parametrize("what", ["data direct", "not root"])
def test_what_is_refused_and_changes_nothing(what: str, tmp_path: Path) -> None:
    node = Node(tmp_path)
    before = node.on()
    if what == "data direct":
        ids = {"vendor": "0x15b3", "device": "0x2100", "class": "0x088000"}
        write_files(tmp_path, {f"/sys/bus/pci/devices/0000:f0:00.0/{name}": text + "\n" for name, text in ids.items()})
        (tmp_path / "sys/bus/pci/devices/0000:f0:00.0/config").write_bytes(bytes(4096))
    else:
        node.program("id", "#!/bin/sh\necho 1000\n")
    done = node.run("apply")
    assert done.returncode == 2
    assert done.stderr
    assert node.on() == before
