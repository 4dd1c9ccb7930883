"""What measures a device runs on the CPUs, and in the memory, of its NUMA node."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from support.agents import FILES, AgentNode, program, step
from support.ports import free_port

if TYPE_CHECKING:
    from pathlib import Path

near = program("near_device")
MEMORY_IS_BOUND = near.bind_memory


def sysfs(folder: Path, node: str, cpus: str | None = None) -> Path:
    device = folder / "class/infiniband/mlx5_0/device"
    device.mkdir(parents=True)
    (device / "numa_node").write_text(f"{node}\n")
    if cpus is not None:
        (folder / "devices/system/node/node0").mkdir(parents=True)
        (folder / "devices/system/node/node0/cpulist").write_text(f"{cpus}\n")
    return folder


def in_a_thread(root: Path, device: str = "mlx5_0") -> tuple[str, bool, set[int]]:
    found: list[Any] = []

    def work() -> None:
        found.extend(near.bind_to_node_of(device, root))
        found.append(os.sched_getaffinity(0))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return found[0], found[1], found[2]


def test_the_thread_is_bound_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near, "bind_memory", lambda nodes: "" if nodes == [0] else "wrong node")
    before = os.sched_getaffinity(0)
    first = min(before)
    text, unpinned, cpus = in_a_thread(sysfs(tmp_path, "0", str(first)))
    assert (text, unpinned, cpus) == (f"pinned to NUMA node 0 of mlx5_0, CPUs {first}", False, {first})
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize(
    ("node", "cpus", "words"),
    [
        ("-1", None, "not pinned: the kernel knows no NUMA node of mlx5_0 (-1)"),
        ("many", None, "not pinned: the NUMA node of mlx5_0 cannot be read"),
        ("0", None, "not pinned to NUMA node 0 of mlx5_0: "),
        ("0", "x-y", "not pinned to NUMA node 0 of mlx5_0: "),
        ("0", "8191", "not pinned to NUMA node 0 of mlx5_0: "),
    ],
)
def test_a_node_that_cannot_be_bound_to_is_told(tmp_path: Path, node: str, cpus: str | None, words: str) -> None:
    text, unpinned, own = in_a_thread(sysfs(tmp_path, node, cpus))
    assert text.startswith(words)
    assert unpinned
    assert own == os.sched_getaffinity(0)


def test_a_device_that_is_not_there_is_told(tmp_path: Path) -> None:
    text, unpinned, _ = in_a_thread(tmp_path, "mlx5_9")
    assert text.startswith("not pinned: the NUMA node of mlx5_9 cannot be read")
    assert unpinned


def test_memory_that_the_kernel_does_not_bind_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near, "bind_memory", lambda _: "Operation not permitted")
    text, unpinned, _ = in_a_thread(sysfs(tmp_path, "0", str(min(os.sched_getaffinity(0)))))
    assert text.endswith("; memory is not: Operation not permitted")
    assert unpinned


def test_memory_is_bound_by_the_kernel_and_inherited() -> None:
    """A program that the thread starts has the policy in its memory map, unless a container's filter forbids the call."""
    found: list[str] = []

    def work() -> None:
        why = MEMORY_IS_BOUND([0])
        found.append(why or subprocess.run(["cat", "/proc/self/numa_maps"], check=True, capture_output=True, text=True).stdout)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if found[0] in ("Operation not permitted", "Function not implemented"):
        pytest.skip(f"set_mempolicy: {found[0]}")
    assert " bind:0 " in found[0]


def two_sockets(folder: Path, nodes_per_socket: int, of_device: int, packages: bool = True) -> Path:
    """Two sockets of 16 cores with two threads each, and a node of memory only, as the GPUs of a GB200 are."""
    count, cores = 2 * nodes_per_socket, 16 // nodes_per_socket
    for node in range(count):
        first = [node * cores, 32 + node * cores]
        place = folder / f"devices/system/node/node{node}"
        place.mkdir(parents=True)
        (place / "cpulist").write_text(",".join(f"{f}-{f + cores - 1}" for f in first) + "\n")
        for cpu in range(first[0], first[0] + cores):
            topology = folder / f"devices/system/cpu/cpu{cpu}/topology"
            topology.mkdir(parents=True)
            (topology / "physical_package_id").write_text(f"{node // nodes_per_socket if packages else -1}\n")
    (folder / f"devices/system/node/node{count}").mkdir()
    (folder / f"devices/system/node/node{count}/cpulist").write_text("\n")
    device = folder / "class/infiniband/mlx5_0/device"
    device.mkdir(parents=True)
    (device / "numa_node").write_text(f"{of_device}\n")
    return folder


@pytest.mark.parametrize(
    ("nodes_per_socket", "of_device", "packages", "expected"),
    [
        (4, 3, True, [0, 1, 2, 3]),
        (4, 5, True, [4, 5, 6, 7]),
        (2, 2, True, [2, 3]),
        (1, 1, True, [1]),
        (4, 5, False, [5]),
    ],
)
def test_memory_is_taken_from_all_nodes_of_the_socket(
    tmp_path: Path, nodes_per_socket: int, of_device: int, packages: bool, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two adapters of a node of two channels need what both carry together; a node without CPUs is not part of a socket."""
    bound: list[Any] = []

    def bind(nodes: list[int]) -> str:
        bound.append(nodes)
        return ""

    monkeypatch.setattr(near, "bind_memory", bind)
    monkeypatch.setattr(near.os, "sched_setaffinity", lambda _, cpus: bound.append(cpus))
    text, unpinned = near.bind_to_node_of("mlx5_0", two_sockets(tmp_path, nodes_per_socket, of_device, packages))
    cores = 16 // nodes_per_socket
    first = {of_device * cores + i for i in range(cores)}
    assert bound == [first | {32 + cpu for cpu in first}, expected]
    assert not unpinned
    nodes = ", ".join(str(n) for n in expected)
    assert text.endswith(f"; memory interleaved over the NUMA nodes {nodes} of its socket") == (len(expected) > 1)


def test_memory_of_several_nodes_is_interleaved(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    class Libc:
        @staticmethod
        def syscall(number: Any, mode: Any, mask: Any, most: Any) -> int:
            calls.append((number.value, mode.value, list(mask), most.value))
            return 0

    monkeypatch.setattr(near.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(near.ctypes, "CDLL", lambda *_, **__: Libc)
    assert near.bind_memory([4, 5, 6, 7]) == near.bind_memory([3]) == near.bind_memory([65]) == ""
    assert calls == [(238, 3, [0xF0], 65), (238, 2, [0x8], 65), (238, 2, [0, 0x2], 129)]
    assert near.bind_memory([0, 1], interleaved=False) == ""
    assert calls[3:] == [(238, 2, [0x3], 65)]


def test_an_unknown_machine_has_no_numbers_of_system_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near.platform, "machine", lambda: "riscv64")
    assert near.bind_memory([0]) == "system calls of riscv64 are not known"


@pytest.mark.parametrize(("text", "expected"), [("0", {0}), ("0-2", {0, 1, 2}), ("0-1,4,6-7", {0, 1, 4, 6, 7})])
def test_lists_of_cpus(text: str, expected: set[int]) -> None:
    assert near.cpus_of(text) == expected


def test_the_agent_records_where_a_step_ran(tmp_path: Path) -> None:
    steps = [step("far", [sys.executable, "-c", "pass"], near="no_such_device"), step("free", ["true"])]
    found = AgentNode(tmp_path, "n1", free_port(), steps).start().end()
    assert found["far"].placement.startswith("not pinned: the NUMA node of no_such_device cannot be read")
    assert (found["far"].unpinned, found["far"].exit_status) == (True, 0)
    assert (found["free"].placement, found["free"].unpinned) == ("", False)


@pytest.mark.parametrize("name", ["near_device.py", "node_lock.py"])
def test_python_3_8(name: str) -> None:
    ast.parse((FILES / name).read_text(encoding="utf-8"), feature_version=(3, 8))
