"""The configuration space of a simulated PCI function agrees with its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator import fault_effects, hardware_kinds, pci_registers, pseudo_files, sysfs_pci, sysfs_rdma
from clusterctl_lab.simulator.state import Fault, Faults
from support.lab_machine import simulate_hardware

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl_lab.simulator.hardware import Hardware


@pytest.mark.parametrize("kind", hardware_kinds.KINDS.values(), ids=list(hardware_kinds.KINDS))
@pytest.mark.parametrize("missing", [set(), {0}], ids=["complete", "without_a_gpu"])
def test_a_bridge_leads_to_the_bus_of_what_is_below_it(missing: set[int], kind: Hardware, monkeypatch: pytest.MonkeyPatch) -> None:
    simulate_hardware(kind, monkeypatch)
    files = pci_registers.with_bus_numbers(sysfs_pci.files(missing))
    for address in (*kind.gpu_addresses, *kind.hca_addresses, *kind.nvswitch_addresses):
        bridge = sysfs_pci.device_folder(address).rpartition("/")[0]
        config, bus = files[f"{bridge}/config"], int(address.split(":")[1], 16)
        assert isinstance(config, bytes)
        assert len(config) == 4096
        assert tuple(config[0x18:0x1B]) == (int(bridge.rpartition("/")[2].split(":")[1], 16), bus, bus)
        assert (files[f"{bridge}/secondary_bus_number"], files[f"{bridge}/subordinate_bus_number"]) == (bus, bus)


def test_a_lost_lane_is_in_the_register_and_nothing_else_changes(tmp_path: Path) -> None:
    root = str(tmp_path)
    pseudo_files.write_files(root, sysfs_rdma.files("n1", {}) | sysfs_pci.files(set()))
    pseudo_files.make_links(root, sysfs_pci.links(set()))
    config = tmp_path / "bus/pci/devices/0000:50:00.0/config"
    healthy = config.read_bytes()
    fault_effects.apply_faults(Faults((Fault("hca_pcie_lanes", "mlx5_2", "4"),)), root)
    assert [i for i in range(4096) if config.read_bytes()[i] != healthy[i]] == [0x72, 0x73]
    assert int.from_bytes(config.read_bytes()[0x72:0x74], "little") >> 4 & 0x3F == 4
    fault_effects.apply_faults(Faults(), root)
    assert config.read_bytes() == healthy
