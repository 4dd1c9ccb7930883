"""The names that a boot gives to RDMA devices: the kernel's numbers behind a dead adapter, and udev rules by PCI address."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from clusterctl_lab.simulator import fault_effects, hardware_kinds, machine, rdma_names, state, sysfs_pci, sysfs_rdma
from clusterctl_lab.simulator.pseudo_files import make_links, write_files
from support.lab_machine import lab_machine, simulate_hardware

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

DGX = hardware_kinds.DGX_H100
RULES = "".join(
    f'ACTION=="add", SUBSYSTEM=="infiniband", KERNELS=="{a}", PROGRAM="rdma_rename %k NAME_FIXED mlx5_r{i}", GOTO="rdma_named"\n'
    for i, a in enumerate(DGX.hca_addresses)
)
RULES += 'ACTION=="add", SUBSYSTEM=="infiniband", PROGRAM="rdma_rename %k NAME_KERNEL"\nLABEL="rdma_named"\n'


def test_the_kernel_counts_all_adapters() -> None:
    names = rdma_names.names_of_boot(DGX, set(), "")
    assert names == {n: n for n in names}
    assert len(names) == 12


def test_behind_a_dead_adapter_every_number_is_one_lower() -> None:
    names = rdma_names.names_of_boot(DGX, {"0000:5e:00.0"}, "")
    assert names["mlx5_5"] == ""
    assert [names[f"mlx5_{i}"] for i in (0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11)] == [f"mlx5_{i}" for i in range(11)]


def test_names_by_address_stay_on_their_cards() -> None:
    healthy, after = (rdma_names.names_of_boot(DGX, dead, RULES) for dead in (set[str](), {"0000:5e:00.0"}))
    assert [healthy[n] for n in DGX.hca_names] == [f"mlx5_r{i}" for i in range(8)]
    assert after == healthy | {"mlx5_5": "", "mlx5_7": "mlx5_6", "mlx5_8": "mlx5_7"}


def test_a_boot_names_the_devices_and_the_tools_follow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = lab_machine(tmp_path, monkeypatch)
    node.install(rdma_core="2510.0.11")
    (tmp_path / "rules").write_text(RULES)
    monkeypatch.setattr(rdma_names, "RULES", str(tmp_path / "rules"))
    simulate_hardware(DGX, monkeypatch)
    monkeypatch.setattr(machine, "_BUILT", DGX)
    guid = machine.hca_guid("n1", 4)
    (tmp_path / "faults.json").write_text(
        json.dumps([{"name": "hca_missing", "device": "mlx5_5"}, {"name": "hca_degraded", "device": "mlx5_6", "option": "0.5"}])
    )
    machine.name_devices()
    assert machine.live_hcas() == [0, 1, 2, 4, 5, 6, 7]
    root = str(tmp_path / "sys")
    write_files(root, sysfs_rdma.files("n1", {}) | sysfs_pci.files(set()))
    make_links(root, sysfs_rdma.links() | sysfs_pci.links(set()))
    at = tmp_path / "sys/class/infiniband"
    assert sorted(p.name for p in at.iterdir()) == ["mlx5_1", "mlx5_2", "mlx5_6", "mlx5_7", *(f"mlx5_r{i}" for i in (0, 1, 2, 4, 5, 6, 7))]
    for name, address in sysfs_rdma.devices():
        assert (at / name / "device").resolve().name == address
        assert [p.name for p in (tmp_path / f"sys/bus/pci/devices/{address}/infiniband").iterdir()] == [name]
    assert not (tmp_path / "sys/bus/pci/devices/0000:5e:00.0").exists()
    assert (at / "mlx5_r4/node_guid").read_text().strip() == guid, "a card keeps its GUID"
    # A fault belongs to the card, whatever its name is.
    assert state.read_faults().of("hca_degraded")[0].device == "mlx5_r4"


def test_an_adapter_that_dies_at_run_time_leaves_the_other_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = lab_machine(tmp_path, monkeypatch)
    root = str(tmp_path / "sys")
    write_files(root, sysfs_rdma.files("n1", {}) | sysfs_pci.files(set()))
    make_links(root, sysfs_rdma.links() | sysfs_pci.links(set()))
    node.inject_fault("hca_missing")
    for _ in range(2):
        fault_effects.apply_faults(state.read_faults(), root)
        assert sorted(p.name for p in (tmp_path / "sys/class/infiniband").iterdir()) == [f"mlx5_{i}" for i in range(8) if i != 3]
        assert not (tmp_path / "sys/bus/pci/devices" / machine.THIS.hca_addresses[3]).exists()
