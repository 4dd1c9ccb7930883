"""The health that NVMe disks report about themselves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_tools.nvme_smart import NoSmartLogError, UnreadableSmartLogError
from clusterctl_validators import test_hardware as module
from support.checks import InventedNode, run_some_checks, write_files
from support.gpu_node import declared
from support.nvme_log import smart_log
from support.recorded import recorded

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from clusterctl_validators.finding import Finding

DISK = "/sys/class/nvme/nvme3/"
PARTS = {DISK + "device/current_link_width": "4", DISK + "model": "SAMSUNG MZQL23T8HCLS-00A07   ", DISK + "serial": "S64HNG0T1 "}
SHOWN = "nvme3 (SAMSUNG MZQL23T8HCLS-00A07, S64HNG0T1)"
HEALTH, TEMPERATURE = "hardware.nvme[nvme3].health", "hardware.nvme[nvme3].temperature"


class NodeWithDisk(InventedNode):
    """A node with the disk nvme3, which answers with this log or fails."""

    def __init__(self, root: Path, answer: bytes | Exception) -> None:
        super().__init__(write_files(root, PARTS), {})
        self._answer = answer

    def nvme_smart_log(self, controller: str) -> bytes:
        assert controller == "nvme3"
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def health(root: Path, answer: bytes | Exception, **variables: Any) -> dict[str, Finding]:
    return run_some_checks(module, declared("hardware", **variables), NodeWithDisk(root, answer), ["test_nvme_health"])


@pytest.mark.parametrize(
    ("fields", "variables", "found"),
    [
        ({}, {}, ""),
        ({"available_spare": 10}, {}, ""),
        ({"available_spare": 0, "available_spare_threshold": 0}, {}, ""),  # a disk of a cloud counts no spare
        ({"percentage_used": 100}, {}, ""),
        ({"percentage_used": 255}, {"hardware_nvme_used_max_percent": 0}, ""),
        ({"media_errors": 2}, {}, ""),
        ({"critical_warning": 0b10}, {}, ""),
        ({"percentage_used": 81}, {"hardware_nvme_used_max_percent": 80}, "81 % of its life used, at most 80 %"),
        ({"percentage_used": 101, "media_errors": 2}, {}, "101 % of its life used, at most 100 %; 2 media errors"),
        ({"critical_warning": 0b1010}, {}, "media read-only"),
        ({"critical_warning": 1, "available_spare": 9}, {}, "spare below its threshold; spare 9 %, threshold 10 %"),
    ],
)
def test_a_disk_is_judged_by_what_it_reports(fields: dict[str, int], variables: dict[str, Any], found: str, tmp_path: Path) -> None:
    finding = health(tmp_path, smart_log(**fields), **variables)[HEALTH]
    hint = f"{SHOWN}: save what is needed from it and replace the disk" if found else ""
    assert (finding.outcome.value, finding.found, finding.hint) == ("fail" if found else "pass", found or "no warning", hint)


def test_a_hot_disk_is_a_warning(tmp_path: Path) -> None:
    finding = health(tmp_path, smart_log(critical_warning=0b10))[TEMPERATURE]
    cool = "check fans and air flow; it slows down by itself until it is cooler"
    assert (finding.outcome.value, finding.found, finding.hint) == ("warn", "beyond a threshold of the disk", f"{SHOWN}: {cool}")


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (NoSmartLogError("/dev/nvme3 has no SMART log"), "not_applicable"),
        (UnreadableSmartLogError("/dev/nvme3: No such device"), "could_not_run"),
    ],
)
def test_a_disk_that_does_not_answer(error: Exception, outcome: str, tmp_path: Path) -> None:
    found = health(tmp_path, error)
    assert {check: (f.outcome.value, f.reason) for check, f in found.items()} == {HEALTH: (outcome, str(error))}


def test_a_node_without_the_device_file_of_a_disk(tmp_path: Path) -> None:
    node = InventedNode(write_files(tmp_path, PARTS), {})
    finding = run_some_checks(module, declared("hardware"), node, ["test_nvme_health"])[HEALTH]
    assert (finding.outcome.value, finding.reason) == ("not_applicable", f"{tmp_path}/dev/nvme3 is absent")


@pytest.mark.parametrize(
    ("file", "outcome"),
    [
        ("gcm-smartctl_dumps-cache_good-nvme0.json", "pass"),
        ("gcm-smartctl_dumps-learn_good-nvme0.json", "pass"),
        ("ironlib-dell-r6515-smartctl-nvme0.json", "pass"),
        # Passes smartctl's overall health with 0 % of spare.
        ("gcm-smartctl_dumps-learn_bad_nvme9-nvme9.json", "fail"),
    ],
)
def test_recorded_disks(file: str, outcome: str, tmp_path: Path) -> None:
    shown: Mapping[str, int] = json.loads(recorded(f"smartctl/{file}").read_text())["nvme_smart_health_information_log"]
    names = ("critical_warning", "temperature", "available_spare", "available_spare_threshold", "percentage_used", "media_errors")
    assert health(tmp_path, smart_log(**{name: shown[name] for name in names}))[HEALTH].outcome.value == outcome
