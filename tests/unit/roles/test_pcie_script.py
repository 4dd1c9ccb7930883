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
# setpci -s ADDRESS REGISTER[=VALUE[:MASK]] on the files of the simulated node, for the two registers of the script.
SETPCI = """#!/bin/sh
file=$ROOT/sys/bus/pci/devices/$2/config
case $3 in
  ECAP_ACS+6.w*) at=262; [ "$(od -An -tx1 -j256 -N1 "$file")" = " 0d" ] || exit 1 ;;
  CAP_EXP+8.w*) at=104 ;;
esac
now=$(($(od -An -tu2 -j$at -N2 "$file")))
case $3 in
  *=*)
    value=${3#*=}
    mask=ffff
    case $value in *:*) mask=${value#*:}; value=${value%:*} ;; esac
    new=$(((now & ~0x$mask) | (0x$value & 0x$mask)))
    printf "\\\\$(printf %o $((new & 255)))\\\\$(printf %o $((new >> 8)))" | dd of="$file" bs=1 seek=$at conv=notrunc 2>/dev/null
    ;;
  *) printf '%04x\\n' "$now" ;;
esac
"""
# Device Control, in the simulated configuration space.
CONTROL = 0x68


class Node:
    """A node on which the ports have ACS on, as a kernel with the IOMMU leaves them."""

    def __init__(self, root: Path, *lines: str) -> None:
        self.root = root
        write_files(
            root, {"/etc/clusterctl/pcie.conf": "# Written by clusterctl\n" + "".join(f"{line}\n" for line in lines or ("acs disabled",))}
        )
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

    def control(self, address: str) -> int:
        """The Device Control register of a function."""
        space = (self.root / "sys/bus/pci/devices" / address / "config").read_bytes()
        return int.from_bytes(space[CONTROL : CONTROL + 2], "little")

    def set_control(self, address: str, value: int) -> None:
        with (self.root / "sys/bus/pci/devices" / address / "config").open("r+b") as file:
            file.seek(CONTROL)
            file.write(value.to_bytes(2, "little"))

    def on(self) -> set[str]:
        """The ports whose register is not zero."""
        devices = self.root / "sys/bus/pci/devices"
        at = slice(sysfs_pci.ACS_CONTROL, sysfs_pci.ACS_CONTROL + 2)
        return {d.name for d in devices.iterdir() if any((d / "config").read_bytes()[at])}


@KINDS
def test_every_port_above_a_gpu_or_hca_is_cleared_and_no_other(kind: Hardware, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulate_hardware(kind, monkeypatch)
    node = Node(tmp_path)
    hcas = (*kind.hca_addresses, *(address for _, address in (*kind.switch_hcas, *kind.other_hcas)))
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
    node.program("setpci", SETPCI.replace("*=*)", "*=*) exit 0;;\n  *:*)"))
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


@KINDS
def test_every_gpu_and_adapter_may_relax_the_order(kind: Hardware, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulate_hardware(kind, monkeypatch)
    node = Node(tmp_path, "relaxed_ordering enabled")
    before = node.on()
    wrong = (kind.gpu_addresses[0], kind.hca_addresses[-1])
    for address in wrong:
        node.set_control(address, 0x5926)
    done = node.run("check")
    assert (done.returncode, {line.split()[0] for line in done.stdout.splitlines()}) == (1, set(wrong))
    assert node.run("apply").returncode == 0
    # The other bits stay, and so does what is not declared.
    assert [node.control(address) for address in wrong] == [0x5936, 0x5936]
    assert node.on() == before


@pytest.mark.parametrize(("declared", "register"), [(128, 0x0936), (512, 0x2936), (4096, 0x5936)])
def test_the_read_requests_of_gpus_only(declared: int, register: int, tmp_path: Path) -> None:
    node = Node(tmp_path, f"gpu_max_read_request_bytes {declared}")
    assert node.run("check").returncode == int(register != 0x2936)
    assert node.run("apply").returncode == 0
    assert {node.control(address) for address in machine.THIS.gpu_addresses} == {register}
    assert {node.control(address) for address in machine.THIS.hca_addresses} == {0x2936}


def test_a_virtual_function_is_left_alone(tmp_path: Path) -> None:
    node = Node(tmp_path, "relaxed_ordering enabled")
    address = machine.THIS.hca_addresses[0]
    node.set_control(address, 0x0020)
    write_files(tmp_path, {f"/sys/bus/pci/devices/{address}/physfn/class": "0x020700\n"})
    assert (node.run("apply").returncode, node.control(address)) == (0, 0x0020)


def test_a_device_that_does_not_answer_is_reported_and_the_others_are_set(tmp_path: Path) -> None:
    node = Node(tmp_path, "relaxed_ordering enabled")
    gone, strict = machine.THIS.gpu_addresses[2], machine.THIS.gpu_addresses[5]
    node.set_control(gone, 0xFFFF)
    node.set_control(strict, 0x2926)
    done = node.run("apply")
    assert (done.returncode, done.stderr) == (2, f"{gone} cannot be read\n")
    assert node.control(strict) == 0x2936


def test_data_direct_refuses_acs_only(tmp_path: Path) -> None:
    node = Node(tmp_path, "relaxed_ordering enabled")
    ids = {"vendor": "0x15b3", "device": "0x2100", "class": "0x088000"}
    write_files(tmp_path, {f"/sys/bus/pci/devices/0000:f0:00.0/{name}": text + "\n" for name, text in ids.items()})
    assert node.run("check").returncode == 0
    write_files(tmp_path, {"/etc/clusterctl/pcie.conf": "acs disabled\nrelaxed_ordering enabled\n"})
    assert node.run("check").returncode == 2


@pytest.mark.parametrize("what", ["data direct", "not root", "no settings"])
def test_what_is_refused_and_changes_nothing(what: str, tmp_path: Path) -> None:
    node = Node(tmp_path)
    before = node.on()
    if what == "data direct":
        ids = {"vendor": "0x15b3", "device": "0x2100", "class": "0x088000"}
        write_files(tmp_path, {f"/sys/bus/pci/devices/0000:f0:00.0/{name}": text + "\n" for name, text in ids.items()})
        (tmp_path / "sys/bus/pci/devices/0000:f0:00.0/config").write_bytes(bytes(4096))
    elif what == "not root":
        node.program("id", "#!/bin/sh\necho 1000\n")
    else:
        (tmp_path / "etc/clusterctl/pcie.conf").unlink()
    done = node.run("apply")
    assert done.returncode == 2
    assert done.stderr
    assert node.on() == before


LOCKED = "the kernel is locked down (integrity) and lets no program write PCI registers: turn Secure Boot off in the BIOS, or do not declare them\n"


@pytest.mark.parametrize("mode", ["apply", "check"])
@pytest.mark.parametrize("line", ["acs disabled", "relaxed_ordering enabled"])
def test_a_locked_down_kernel_is_the_reason(mode: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pci_write_config of drivers/pci/pci-sysfs.c: EPERM under LOCKDOWN_PCI_ACCESS, which is part of integrity (kernel_lockdown(7))."""
    simulate_hardware(hardware_kinds.KINDS["hgx_h100"], monkeypatch)
    node = Node(tmp_path, line)
    write_files(tmp_path, {"/sys/kernel/security/lockdown": "none [integrity] confidentiality\n"})
    node.program("setpci", SETPCI.replace("  *=*)\n", "  *=*)\n    echo 'setpci: write failed: Operation not permitted' >&2; exit 1\n"))
    for address in hardware_kinds.KINDS["hgx_h100"].hca_addresses:
        node.set_control(address, 0)
    done = node.run(mode)
    assert (done.returncode, done.stderr.splitlines(keepends=True)[-1]) == (2, LOCKED)


def test_a_locked_down_kernel_is_no_matter_where_nothing_is_to_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulate_hardware(hardware_kinds.KINDS["hgx_h100"], monkeypatch)
    node = Node(tmp_path)
    assert node.run("apply").returncode == 0
    write_files(tmp_path, {"/sys/kernel/security/lockdown": "none [integrity] confidentiality\n"})
    assert (node.run("check").returncode, node.run("apply").returncode) == (0, 0)
