"""The adapters of the simulated machine show their driver while its module is loaded, as a real sysfs does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator import machine, pci_drivers, sysfs_pci, sysfs_rdma
from clusterctl_lab.simulator.pseudo_files import make_links, write_files
from clusterctl_tools.kernel_drivers import used_drivers

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def sys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(pci_drivers, "SYS", str(tmp_path / "sys"))
    return tmp_path / "sys"


def test_a_loaded_module_has_the_adapters_until_it_is_unloaded(sys: Path, tmp_path: Path) -> None:
    write_files(str(sys), sysfs_pci.files(set()))
    write_files(str(sys), {"module/mlx5_core/initstate": "live", **{f"class/infiniband/{n}/fw_ver": "1" for n, _ in sysfs_rdma.devices()}})
    make_links(str(sys), sysfs_rdma.links())
    assert used_drivers(tmp_path) == []
    for _ in range(2):
        pci_drivers.bind("mlx5_core")
    assert {d.device for d in used_drivers(tmp_path)} == set(machine.THIS.hca_names) | {n for n, _ in machine.THIS.other_hcas}
    assert {d.module for d in used_drivers(tmp_path)} == {"mlx5_core"}
    pci_drivers.release("mlx5_core")
    assert used_drivers(tmp_path) == []


def test_other_modules_have_no_devices(sys: Path) -> None:
    pci_drivers.bind("nfs")
    pci_drivers.release("nfs")
    assert not sys.exists()
