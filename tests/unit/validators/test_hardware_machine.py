from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_tools.linux_files import parse_os_release
from clusterctl_validators import test_hardware as module
from clusterctl_validators.finding import GOOD, Outcome, Severity
from support.checks import InventedNode, run_checks, run_some_checks, write_files
from support.gpu_node import declared
from support.recorded import recorded

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl_validators.finding import Finding
    from clusterctl_validators.sources import CommandResult

RELEASE = 'PRETTY_NAME="Ubuntu 24.04.3 LTS"\nNAME="Ubuntu"\nVERSION_ID="24.04"\nID=ubuntu\nID_LIKE=debian\n'


def found_of(root: Path, text: str = RELEASE, **changes: Any) -> dict[str, Finding]:
    dmi = {"/sys/class/dmi/id/product_name": "SYS-821GE-TNHR\n", "/sys/class/dmi/id/bios_version": "3.2\n"}
    files = {"/etc/os-release": text, **dmi, "/proc/meminfo": "MemTotal: 1 kB\n"}
    lscpu = {"lscpu -J": recorded("lscpu/sparecores-gcp-a3-highgpu-8g.json").read_text()}
    findings = run_checks(module, declared("hardware", **changes), write_files(root, files), lscpu)
    names = ("hardware.os", "hardware.machine", "hardware.bios_version", "hardware.cpu.architecture")
    return {name: findings[name] for name in names}


@pytest.mark.parametrize(
    ("changes", "failed"),
    [
        ({}, {}),
        ({"hardware_os": "ubuntu 22.04"}, {"hardware.os": "ubuntu 24.04"}),
        ({"hardware_architecture": "aarch64"}, {"hardware.cpu.architecture": "x86_64"}),
        ({"hardware_machines": ["DGXH100"]}, {"hardware.machine": "SYS-821GE-TNHR"}),
        ({"hardware_machines": ["DGXH100", "SYS-821GE-TNHR"]}, {}),
        ({"hardware_os": "", "hardware_architecture": "", "hardware_machines": []}, {}),
    ],
    ids=["profile", "release", "architecture", "model", "one_of_the_models", "undeclared"],
)
def test_the_machine_is_the_declared_one(changes: dict[str, Any], failed: dict[str, str], tmp_path: Path) -> None:
    bad = {name: f for name, f in found_of(tmp_path, **changes).items() if f.outcome not in GOOD}
    assert {name: f.found for name, f in bad.items()} == failed


def test_the_bios_version_is_kept_and_so_is_a_model_that_is_not_declared(tmp_path: Path) -> None:
    found = found_of(tmp_path, hardware_machines=[])
    kept = {name: (f.outcome, f.found) for name, f in found.items() if name in {"hardware.machine", "hardware.bios_version"}}
    assert kept == {
        "hardware.machine": (Outcome.NOT_APPLICABLE, "SYS-821GE-TNHR"),
        "hardware.bios_version": (Outcome.NOT_APPLICABLE, "3.2"),
    }


@pytest.mark.parametrize("text", ["", "NAME=x\n", "\0\0", "ID\nVERSION_ID\n"])
def test_a_release_that_is_not_named_is_not_the_declared_one(text: str, tmp_path: Path) -> None:
    finding = found_of(tmp_path, text)["hardware.os"]
    assert finding.outcome not in GOOD
    assert finding.severity is Severity.CRITICAL


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (RELEASE, "ubuntu 24.04"),
        ('ID="rhel"\nVERSION_ID="9.4"\n', "rhel 9.4"),
        ("ID=arch\n", "arch"),
        ("VERSION_ID='15.5'\nID='sles'\n", "sles 15.5"),
    ],
)
def test_id_and_version_of_a_release(text: str, expected: str) -> None:
    assert parse_os_release(text) == expected


def test_a_disk_on_a_network_hides_no_missing_one(tmp_path: Path) -> None:
    """drivers/nvme/host/sysfs.c: `transport` of a controller is pcie, tcp, rdma or fc. With native multipath a disk has another number than its controller."""
    places = {"nvme0n1/device": "pcie", "nvme1n1/device/nvme2": "pcie", "nvme2n1/device/nvme1": "tcp"}
    files = {f"/sys/class/block/{place}/transport": f"{text}\n" for place, text in places.items()}
    root = write_files(tmp_path, files | {"/sys/class/nvme/nvme1/transport": "tcp\n", "/sys/class/nvme/nvme2/transport": "pcie\n"})
    listed = ", ".join(f'{{"name": "nvme{i}n1", "type": "disk", "mountpoint": null}}' for i in range(3))
    commands: dict[str, CommandResult | str] = {"lsblk -J -o NAME,TYPE,MOUNTPOINT": f'{{"blockdevices": [{listed}]}}'}
    source = InventedNode(root, commands)
    found = run_some_checks(module, declared("hardware", hardware_nvme_data_disks=3), source, ["test_nvme_data_disks"])
    finding = found["hardware.nvme_data_disks"]
    assert (finding.outcome, finding.found, "nvme2n1" in finding.hint) == (Outcome.FAIL, "2", False)
