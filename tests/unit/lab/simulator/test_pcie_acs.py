"""GPUDirect of a lab node is slow while the ports of the switch between HCA and GPU redirect traffic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator import hardware_kinds, machine, pcie_acs, pseudo_files, sysfs_pci
from support.lab_machine import simulate_hardware

if TYPE_CHECKING:
    from clusterctl_lab.simulator.hardware import Hardware


def boot(root: Path, *, acs: bool) -> str:
    pseudo_files.write_files(str(root), sysfs_pci.files(set(), acs=acs))
    pseudo_files.make_links(str(root), sysfs_pci.links(set()))
    return str(root)


def set_control(root: str, port: str, value: int) -> None:
    with Path(root, "bus/pci/devices", port, "config").open("r+b") as file:
        file.seek(sysfs_pci.ACS_CONTROL)
        file.write(value.to_bytes(2, "little"))


@pytest.mark.parametrize("kind", hardware_kinds.KINDS.values(), ids=list(hardware_kinds.KINDS))
def test_only_a_shared_switch_has_a_shorter_path(kind: Hardware, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulate_hardware(kind, monkeypatch)
    root = boot(tmp_path, acs=True)
    expected = 1.0 if kind.rack_nvlink else pcie_acs.FACTOR
    assert [pcie_acs.gpudirect_factor(rail, root) for rail in range(machine.HCAS)] == [expected] * machine.HCAS


def test_the_register_decides(tmp_path: Path) -> None:
    root = boot(tmp_path, acs=False)
    assert pcie_acs.gpudirect_factor(2, root) == 1.0
    port = sysfs_pci.ports_of(machine.THIS.hca_addresses[2])[-1]
    set_control(root, port, 0x0004)
    assert (pcie_acs.gpudirect_factor(2, root), pcie_acs.gpudirect_factor(3, root)) == (pcie_acs.FACTOR, 1.0)
    set_control(root, port, 0x0001)
    assert pcie_acs.gpudirect_factor(2, root) == 1.0, "source validation redirects nothing"
