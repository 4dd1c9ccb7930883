"""The validators read PCIe links, error counters, IOMMU and ACS of each kind of simulated machine."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator import (
    dmesg,
    fault_effects,
    hardware_kinds,
    kernel_log,
    machine,
    pseudo_files,
    sysfs_iommu,
    sysfs_pci,
    sysfs_rdma,
)
from clusterctl_lab.simulator.state import Fault, Faults
from clusterctl_tools import lspci
from clusterctl_validators import boot_log, machine_errors, pcie
from clusterctl_validators.probe import CommandResult, Probe
from support.checks import InventedNode
from support.lab_machine import simulate_hardware

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl_lab.simulator.hardware import Hardware

DEVICE = "/sys/class/infiniband/{}/device"


def boot(root: Path, cmdline: str) -> Probe:
    """The sysfs of a booted machine."""
    sys = str(root / "sys")
    pseudo_files.write_files(
        sys, sysfs_rdma.files("n1", {}) | sysfs_pci.files(set(), acs=sysfs_iommu.is_on(cmdline)) | sysfs_iommu.files(cmdline)
    )
    pseudo_files.make_links(sys, sysfs_rdma.links() | sysfs_pci.links(set()) | sysfs_iommu.links(cmdline))
    return Probe(InventedNode(root, {}))


@pytest.mark.parametrize("kind", hardware_kinds.KINDS.values(), ids=list(hardware_kinds.KINDS))
def test_links_and_iommu_of_every_kind(kind: Hardware, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulate_hardware(kind, monkeypatch)
    arm = not kind.processor.vendor
    probe = boot(tmp_path, "ro quiet iommu.passthrough=0" if arm else "ro quiet iommu=pt")
    for name in kind.hca_names:
        assert pcie.read_link(probe, DEVICE.format(name)) == pcie.PcieLink(kind.pcie_gen, 16, kind.pcie_gen, 16)
        assert pcie.iommu_state(probe, DEVICE.format(name)) == ("translated" if arm else "passthrough")
    assert pcie.aer_counts(probe) == {}


@pytest.mark.parametrize(
    ("cmdline", "state"),
    [
        ("ro", "translated"),
        ("ro intel_iommu=on iommu=pt", "passthrough"),
        ("ro intel_iommu=off iommu=pt", "disabled"),
        ("ro iommu=off", "disabled"),
    ],
)
def test_the_command_line_decides_what_the_iommu_does(cmdline: str, state: str, tmp_path: Path) -> None:
    assert pcie.iommu_state(boot(tmp_path, cmdline), DEVICE.format("mlx5_0")) == state


@pytest.mark.parametrize("cmdline", ["ro", "ro iommu=off"])
def test_the_real_lspci_shows_acs(cmdline: str, tmp_path: Path) -> None:
    if not shutil.which("lspci"):
        pytest.skip("lspci is not installed")
    boot(tmp_path, cmdline)
    argv = ["lspci", "-A", "linux-sysfs", "-O", f"sysfs.path={tmp_path}/sys/bus/pci", *lspci.BRIDGES[1:]]
    shown = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    able, redirecting = pcie.acs_ports(Probe(InventedNode(tmp_path, {" ".join(lspci.BRIDGES): CommandResult(0, shown)})))
    # The root port and the two lower ports of the switch of each GPU and its HCA; the upper one has no ACS.
    assert len(able) == 3 * machine.GPUS
    assert redirecting == (able if cmdline == "ro" else [])


def test_faults_of_a_pcie_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    boot(tmp_path, "ro")
    faults = Faults((Fault("hca_pcie_lanes", "mlx5_3", "8"), Fault("pcie_error", "mlx5_5", "nonfatal")))
    fault_effects.apply_faults(faults, str(tmp_path / "sys"))
    probe = Probe(InventedNode(tmp_path, {}))
    assert [pcie.read_link(probe, DEVICE.format(f"mlx5_{n}")).width for n in (2, 3)] == [16, 8]
    address = machine.THIS.hca_addresses[5]
    assert pcie.aer_counts(probe) == {address: pcie.AerCounts(0, 1, 0)}

    monkeypatch.setattr(kernel_log, "KMSG", str(tmp_path / "kmsg"))
    monkeypatch.setattr(kernel_log, "RING", str(tmp_path / "ring"))
    monkeypatch.setattr(dmesg, "RING", str(tmp_path / "ring"))
    (tmp_path / "kmsg").touch()
    fault_effects.log_fault(faults.active[1], "n1", kernel_log.KernelLog())
    dmesg.main(["dmesg", "--time-format", "iso"])
    (error,) = machine_errors.parse(capsys.readouterr().out).aer
    assert (error.device, error.corrected, error.fatal) == (address, False, False)
    assert boot_log.time_of(error.before).startswith("20")

    fault_effects.apply_faults(Faults(), str(tmp_path / "sys"))
    assert pcie.aer_counts(Probe(InventedNode(tmp_path, {}))) == {}
