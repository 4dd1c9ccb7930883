"""A disk whose namespaces were deleted is no missing disk."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_tools.util_linux import LSBLK
from clusterctl_validators import test_hardware as module
from support.checks import InventedNode, run_some_checks, write_files
from support.gpu_node import declared

if TYPE_CHECKING:
    from pathlib import Path

LINKS = {f"/sys/class/nvme/nvme{i}/device/current_link_width": "4" for i in range(2)}


@pytest.mark.parametrize(
    ("entries", "hint"),
    [
        ({"nvme1/nvme1n1/size": "1"}, "nvme0 without a namespace,"),
        # With multipath the namespace has the number of the subsystem, and its path those of both (nvme-multipath).
        ({"nvme0/nvme0c0n1/uevent": "", "nvme1/nvme0c1n1/uevent": ""}, "found nvme1n1; reseat or replace the missing disk"),
        ({"nvme0/ng0n1/dev": "", "nvme0/numa_node": "0", "nvme1/nvme1n1/size": "1"}, "nvme0 without a namespace,"),
    ],
)
def test_the_next_action_of_a_disk_that_is_not_there(entries: dict[str, str], hint: str, tmp_path: Path) -> None:
    disks = json.dumps({"blockdevices": [{"name": "nvme1n1", "type": "disk", "mountpoint": None}]})
    variables: dict[str, Any] = {**declared("hardware"), "hardware_nvme_data_disks": 2}
    root = write_files(tmp_path, {**LINKS, **{f"/sys/class/nvme/{name}": text for name, text in entries.items()}})
    found = run_some_checks(module, variables, InventedNode(root, {" ".join(LSBLK): disks}), ["test_nvme_data_disks"])
    finding = found["hardware.nvme_data_disks"]
    assert (finding.outcome.value, finding.found, finding.hint.partition(" which")[0]) == ("fail", "1", hint)
