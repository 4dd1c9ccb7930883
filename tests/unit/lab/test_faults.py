from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.model.errors import LabError, UsageProblemError
from clusterctl_lab import containers, fault_injection, faults
from clusterctl_lab.layout import LabPaths
from clusterctl_lab.simulator import state
from clusterctl_lab.simulator.hardware_kinds import GB300_NVL72

if TYPE_CHECKING:
    from pathlib import Path


def test_every_fault_states_its_effect_duration_and_frequency() -> None:
    for kind in faults.fault_catalogue().values():
        assert kind.summary
        assert kind.lasts in {"boot", "repair"}
        assert any(c.isdigit() for c in kind.often), kind.name
        assert not kind.option or kind.default_option in kind.choices


def test_the_documented_faults_exist() -> None:
    assert {"hca_degraded", "gpu_missing", "ecc_uncorrectable", "xid", "nccl_slow"} <= set(faults.fault_catalogue())


@pytest.mark.parametrize("name", list(faults.fault_catalogue()))
def test_defaults_give_a_valid_fault(name: str) -> None:
    kind = faults.fault_catalogue()[name]
    made = faults.make_fault(name, boot_id="b1")
    assert (made.device, made.option) == (kind.default_device, kind.default_option)
    assert made.boot_id == ("b1" if kind.lasts == "boot" else "")


@pytest.mark.parametrize(
    ("name", "device", "option", "message"),
    [
        ("hca_on_fire", "", "", "unknown fault"),
        ("hca_degraded", "mlx5_8", "", "unknown device"),
        ("hca_degraded", "3", "", "unknown device"),
        ("gpu_missing", "8", "", "unknown device"),
        ("nccl_slow", "mlx5_0", "", "unknown device"),
        ("xid", "0", "12345", "invalid option"),
        ("gpu_missing", "0", "0.5", "invalid option"),
        ("hca_degraded", "", "2", "invalid option"),
    ],
)
def test_an_unknown_fault_device_or_option_is_refused(name: str, device: str, option: str, message: str) -> None:
    with pytest.raises(UsageProblemError, match=message) as caught:
        faults.make_fault(name, device, option)
    assert caught.value.hint


def test_the_default_device_is_the_last_one_on_a_machine_with_fewer_devices() -> None:
    assert faults.make_fault("gpu_missing", hardware=GB300_NVL72).device == "3"
    assert faults.make_fault("hca_degraded", hardware=GB300_NVL72).device == "mlx5_3"
    with pytest.raises(UsageProblemError, match="unknown device") as caught:
        faults.make_fault("hca_degraded", "mlx5_4", hardware=GB300_NVL72)
    assert caught.value.hint == "devices: mlx5_0, mlx5_1, mlx5_2, mlx5_3"


def test_a_gpu_may_be_named_gpu5() -> None:
    assert faults.make_fault("gpu_missing", "GPU5").device == "5"


def test_a_new_fault_replaces_the_same_fault_on_the_same_device() -> None:
    first = faults.make_fault("hca_degraded", "mlx5_1", "0.5")
    second = faults.make_fault("hca_degraded", "mlx5_1", "0.25")
    other = faults.make_fault("hca_degraded", "mlx5_2")
    assert faults.with_fault((first, other), second) == (other, second)
    assert faults.without_fault((first, other), "hca_degraded", "mlx5_1") == (other,)
    assert faults.without_fault((first, other), "hca_degraded") == ()


def test_the_node_reads_the_faults_that_the_command_wrote(tmp_path: Path) -> None:
    file, boot = tmp_path / "faults.json", tmp_path / "boot_id"
    boot.write_text("b1\n")
    permanent, until_reboot = faults.make_fault("gpu_missing", "5"), faults.make_fault("xid", "3", "79", boot_id="b1")
    faults.save_faults(file, [permanent, until_reboot])
    assert faults.load_faults(file) == (permanent, until_reboot)
    assert state.read_faults(str(file), str(boot)).active == (permanent, until_reboot)
    boot.write_text("b2\n")
    assert state.read_faults(str(file), str(boot)).active == (permanent,)


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabPaths:
    found = LabPaths(tmp_path)
    found.node_dir("r12-n04").mkdir(parents=True)
    node = containers.Container("r12-n04", True, "image", "rack_12")
    monkeypatch.setattr(containers, "lab_containers", lambda _paths: {"r12-n04": node})
    monkeypatch.setattr(containers, "boot_id", lambda _name: "b1")
    return found


def test_a_fault_is_stored_and_cleared(paths: LabPaths) -> None:
    fault_injection.inject_fault(paths, "r12-n04", "hca_degraded")
    fault_injection.inject_fault(paths, "r12-n04", "xid")
    assert [f.name for f in fault_injection.active_faults(paths, "r12-n04", "b1")] == ["hca_degraded", "xid"]
    assert [f.name for f in fault_injection.active_faults(paths, "r12-n04", "b2")] == ["hca_degraded"]
    assert [f.name for f in fault_injection.clear_faults(paths, "r12-n04", "hca_degraded")] == ["hca_degraded"]
    assert [f.name for f in fault_injection.clear_faults(paths, "r12-n04")] == ["xid"]
    assert fault_injection.active_faults(paths, "r12-n04") == ()


def test_a_node_outside_this_lab_is_refused(paths: LabPaths) -> None:
    with pytest.raises(LabError, match="r12-n05 is not running"):
        fault_injection.inject_fault(paths, "r12-n05", "gpu_missing")
    with pytest.raises(UsageProblemError, match="not a lab node"):
        fault_injection.inject_fault(paths, "node5", "gpu_missing")
