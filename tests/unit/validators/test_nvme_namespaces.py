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


GENERATION_3 = {f"{end}_link_{what}": text for end in ("current", "max") for what, text in (("speed", "8.0 GT/s PCIe"), ("width", "4"))}
GENERATION_4 = {**GENERATION_3, "current_link_speed": "16.0 GT/s PCIe", "max_link_speed": "16.0 GT/s PCIe"}


@pytest.mark.parametrize(("path", "others"), [("nvme0n1", "nvme1n1"), ("nvme0c0n1", "nvme1c1n1")])
def test_the_declared_generation_is_that_of_data_disks(path: str, others: str, tmp_path: Path) -> None:
    """A Samsung PM983 (M.2, PCIe 3.0), as servers start from, beside data disks of generation 4."""
    links = {"nvme0": GENERATION_3, "nvme1": GENERATION_4}
    files = {f"/sys/class/nvme/{disk}/device/{name}": text for disk, link in links.items() for name, text in link.items()}
    root = write_files(tmp_path, {**files, f"/sys/class/nvme/nvme0/{path}/uevent": "", f"/sys/class/nvme/nvme1/{others}/uevent": ""})
    system = {"name": "nvme0n1", "type": "disk", "mountpoint": None, "children": [{"name": "nvme0n1p2", "type": "part", "mountpoint": "/"}]}
    disks = json.dumps({"blockdevices": [system, {"name": "nvme1n1", "type": "disk", "mountpoint": None}]})
    variables = {**declared("hardware"), "hardware_hcas": [], "hardware_nvme_data_disks": 1, "hardware_nvme_pcie_gen": 4}
    node = InventedNode(root, {" ".join(LSBLK): disks})
    found = run_some_checks(module, variables, node, ["test_pcie_links"])
    assert [f.check for f in found.values() if f.outcome.value == "fail"] == []
    assert found["hardware.nvme[nvme0].pcie_gen"].expected == ">= 3"
    # Without the list of disks no disk is known to be one of the system.
    alone = run_some_checks(module, variables, InventedNode(root, {}), ["test_pcie_links"])
    assert [f.check for f in alone.values() if f.outcome.value == "fail"] == ["hardware.nvme[nvme0].pcie_gen"]
