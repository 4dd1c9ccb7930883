from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator import fault_effects, load, machine, pseudo_files, state, sysfs_pci, sysfs_rdma
from clusterctl_lab.simulator.state import Fault, Faults
from clusterctl_validators import adapter_errors, disk_errors

if TYPE_CHECKING:
    from pathlib import Path


def test_sysfs_shows_a_fault_until_it_is_cleared(tmp_path: Path) -> None:
    root = str(tmp_path)
    pseudo_files.write_files(root, sysfs_rdma.files("n1", {}))
    pseudo_files.write_files(root, sysfs_pci.files(set()))
    pseudo_files.make_links(root, sysfs_pci.links(set()))
    gpu, rate = tmp_path / "bus/pci/devices/0000:c0:00.0", tmp_path / "class/infiniband/mlx5_3/ports/1/rate"
    fault_effects.apply_faults(Faults((Fault("gpu_missing", "5"), Fault("hca_downtrained", "mlx5_3", "200"))), root)
    assert not gpu.exists()
    assert rate.read_text() == "200 Gb/sec (4X HDR)\n"
    fault_effects.apply_faults(Faults(), root)
    assert (gpu / "vendor").read_text() == "0x10de\n"
    assert rate.read_text() == "400 Gb/sec (4X NDR)\n"


class Log:
    """Keeps the lines of the kernel log."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def log(self, text: str, level: str = "info") -> None:
        self.lines.append(f"{level}: {text}")


def test_load_brings_out_what_was_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "load").mkdir()
    monkeypatch.setattr(load, "FOLDER", str(tmp_path / "load"))
    root, log = str(tmp_path), Log()
    pseudo_files.write_files(root, sysfs_rdma.files("n1", {}))
    kinds = ("xid", "row_remap", "power_brake", "link_error")
    faults = Faults(tuple(Fault("load_error", str(i), kind) for i, kind in enumerate(kinds)))
    assert [load.raised(faults, kind) for kind in kinds] == [set(), set(), set(), set()]
    monkeypatch.setattr(state, "read_faults", lambda: faults)
    load.begin()
    assert [load.raised(faults, kind) for kind in kinds] == [{0}, {1}, {2}, {3}]
    assert load.raised_faults(Faults(faults.active[:1])) == [faults.active[0]], "a fault that was cleared is gone"
    fault_effects.raise_load_errors(load.raised_faults(faults), "n1", log, root)  # type: ignore[arg-type]
    assert [line.split("): ")[1].split(",")[0] for line in log.lines] == ["95", "63"]
    assert (tmp_path / "class/infiniband/mlx5_3/ports/1/counters/symbol_error").read_text() == "214\n"
    assert (tmp_path / "class/infiniband/mlx5_2/ports/1/counters/symbol_error").read_text() == "0\n"


def test_faults_reduce_rates() -> None:
    faults = Faults((Fault("hca_degraded", "mlx5_3", "0.5"), Fault("hca_downtrained", "mlx5_3", "200"), Fault("nccl_slow", "", "0.76")))
    assert faults.hca_factor("mlx5_3", 400) == 0.25
    assert faults.hca_factor("mlx5_2", 400) == 1.0
    assert faults.nccl_factor() == 0.76
    assert Faults((Fault("xid", "4", "79"), Fault("xid", "5", "31"))).lost_gpus() == {4}


@pytest.mark.parametrize(("kind", "recovered"), [("lost", False), ("read_only", False), ("reset", True)])
def test_a_disk_that_fails_is_in_the_log_as_validators_read_it(kind: str, recovered: bool) -> None:
    log = Log()
    fault_effects.log_fault(Fault("disk_error", "", kind), "n1", log)  # type: ignore[arg-type]
    found = disk_errors.parse("\n".join(f"kernel: {line.partition(': ')[2]}" for line in log.lines))
    assert len(found) == len(log.lines)
    assert all(e.recovered for e in found) is recovered


@pytest.mark.parametrize(("kind", "recovered"), [("failed", False), ("hot", True)])
def test_an_adapter_that_fails_is_in_the_log_as_validators_read_it(kind: str, recovered: bool) -> None:
    log = Log()
    fault_effects.log_fault(Fault("hca_firmware", "mlx5_2", kind), "n1", log)  # type: ignore[arg-type]
    found = adapter_errors.parse("\n".join(f"kernel: {line.partition(': ')[2]}" for line in log.lines))
    assert {(e.device, e.recovered) for e in found} == {(machine.THIS.hca_addresses[2], recovered)}
    assert len(found) == len(log.lines)
