from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator import machine, procfs, pseudo_files, sysfs_memory
from clusterctl_lab.simulator.hugepages import HugePages
from clusterctl_lab.simulator.memory_files import MemoryFiles

if TYPE_CHECKING:
    from pathlib import Path

NODE = "/sys/devices/system/node/node{}/hugepages/hugepages-{}kB/nr_hugepages"
THP = "/sys/kernel/mm/transparent_hugepage/enabled"


class Written:
    def __init__(self, root: Path) -> None:
        self.root = root
        fresh = HugePages(machine.NUMA_NODES, machine.THIS.huge_kib_per_node)
        pseudo_files.write_files(f"{root}/sys", sysfs_memory.files("", fresh))
        pseudo_files.write_files(f"{root}/proc/sys", procfs.proc_sys_files("", "b", 0))
        pseudo_files.write_files(f"{root}/run/clusterctl-lab/proc", {"meminfo": sysfs_memory.meminfo(fresh)})
        self.files = MemoryFiles("", str(root))

    def write(self, path: str, text: str) -> None:
        (self.root / path.lstrip("/")).write_text(f"{text}\n")
        self.files.written(path)

    def read(self, path: str) -> str:
        return (self.root / path.lstrip("/")).read_text().strip()


@pytest.fixture
def machine_files(tmp_path: Path) -> Written:
    return Written(tmp_path)


def test_all_watched_files_exist(machine_files: Written) -> None:
    assert all((machine_files.root / p.lstrip("/")).is_file() for p in machine_files.files.watched())


def test_a_write_updates_all_related_files(machine_files: Written) -> None:
    machine_files.write("/proc/sys/vm/nr_hugepages", "33")
    assert (machine_files.read(NODE.format(0, 2048)), machine_files.read(NODE.format(1, 2048))) == ("17", "16")
    assert machine_files.read(NODE.format(0, 2048).replace("nr_", "free_")) == "17"
    assert "HugePages_Total:      33" in machine_files.read("/run/clusterctl-lab/proc/meminfo")
    machine_files.write(NODE.format(1, 2048), "20")
    assert machine_files.read("/proc/sys/vm/nr_hugepages") == "37"


def test_allocation_is_limited_by_memory(machine_files: Written) -> None:
    machine_files.write(NODE.format(0, 1048576), "100000")
    assert machine_files.read(NODE.format(0, 1048576)) == str(machine.THIS.huge_kib_per_node // 1048576)


def test_a_shorter_number_replaces_a_longer_one_completely(machine_files: Written) -> None:
    machine_files.write("/proc/sys/vm/nr_hugepages", "1000")
    machine_files.write("/proc/sys/vm/nr_hugepages", "8")
    assert machine_files.read(NODE.format(0, 2048)) == "4"
    assert machine_files.read("/proc/sys/vm/nr_hugepages") == "8"


def test_invalid_values_change_nothing(machine_files: Written) -> None:
    machine_files.write("/proc/sys/vm/nr_hugepages", "12")
    machine_files.write("/proc/sys/vm/nr_hugepages", "lots")
    assert machine_files.read("/proc/sys/vm/nr_hugepages") == "12"
    machine_files.write(THP, "sometimes")
    assert machine_files.read(THP) == "[always] madvise never"


@pytest.mark.parametrize("choice", ["always", "madvise", "never"])
def test_the_selected_value_is_shown_in_brackets(machine_files: Written, choice: str) -> None:
    machine_files.write(THP, choice)
    assert f"[{choice}]" in machine_files.read(THP)
    assert machine_files.read(THP).count("[") == 1
