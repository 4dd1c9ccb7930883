"""Fills the free memory of a node's processors with stressapptest, which compares what it reads with what it wrote.

host_memory.py --seconds S [--memory-percent 95] [--threads N] [--program stressapptest]
host_memory.py --version [--program stressapptest]

Prints a line of JSON about the memory, what stressapptest prints as it comes, and a line of JSON about its end. Memory of NUMA nodes without
processors (of GPUs, as on GB200) is left alone. If memory runs out, stressapptest is what the kernel ends. Standard library, Python 3.8.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from near_device import bind_memory

SCHEMA_VERSION = 1
# What stressapptest itself leaves to the system where it chooses the size: 5 % and this (FindFreeMemSize in os.cc).
SYSTEM_MIB = 192
LEAST_MIB = 64
KIB_PER_MIB = 1024
NO_STRESSAPPTEST, NO_ROOM, NOT_STARTED, ENDED_BADLY = 3, 4, 5, 6
MEMORY_LINE = re.compile(r"^(?:Node \d+ )?(\w+):\s+(\d+) kB$", re.MULTILINE)


class Memory(NamedTuple):
    """Memory of the NUMA nodes with processors. `bound_to`: these nodes where there are others, too; empty where there are none."""

    node_mib: int
    free_mib: int
    bound_to: list[int]


def memory_of(root: Path) -> Memory:
    """What the node has, and what of it is free or can be freed: MemAvailable, which counts no reserved huge pages.

    Raises:
        OSError: the kernel does not show it.
        KeyError: nor this.
    """
    whole = counts(root / "proc/meminfo")
    nodes = {int(p.name[len("node") :]): p for p in (root / "sys/devices/system/node").glob("node[0-9]*")}
    # On Grace that of the GPUs: nodes 2, 10, 18 and 26 of GB200 (vllm-project/vllm pull 39361).
    bare = {number: counts(p / "meminfo") for number, p in nodes.items() if not (p / "cpulist").read_text(encoding="ascii").strip()}
    total = whole["MemTotal"] - sum(memory["MemTotal"] for memory in bare.values())
    free = whole["MemAvailable"] - sum(memory["MemFree"] for memory in bare.values())
    return Memory(total // KIB_PER_MIB, max(0, free) // KIB_PER_MIB, sorted(set(nodes) - set(bare)) if bare else [])


def counts(file: Path) -> dict[str, int]:
    """Name -> KiB, of a meminfo of the kernel."""
    return {name: int(kib) for name, kib in MEMORY_LINE.findall(file.read_text(encoding="ascii"))}


def oom_kills(root: Path) -> int:
    """Processes that the kernel ended for lack of memory since it started; 0 before Linux 4.13, which does not count them."""
    words = (root / "proc/vmstat").read_text(encoding="ascii").split()
    return int(words[words.index("oom_kill") + 1]) if "oom_kill" in words else 0


def emit(**values: Any) -> None:
    """Print a line."""
    sys.stdout.write(json.dumps(values, sort_keys=True) + "\n")
    sys.stdout.flush()


def not_started(problem: str, status: int = NOT_STARTED) -> int:
    """Print why there is no load."""
    emit(problem=problem)
    return status


def version(program: str) -> int:
    """Print the version in the help of stressapptest; others than 1.0.6 put the time before it."""
    try:
        helped = subprocess.run([program, "-h"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=8, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return NO_STRESSAPPTEST
    found = re.search(r"SAT revision ([^,\s]+)", helped.stdout.decode("utf-8", "replace"))
    sys.stdout.write("stressapptest {}\n".format(found.group(1) if found else "of unknown version"))
    return 0


def load(options: argparse.Namespace, root: Path) -> int:
    """Start stressapptest and wait for it."""
    try:
        memory, kills = memory_of(root), oom_kills(root)
    except (OSError, ValueError, KeyError) as e:
        return not_started(f"the kernel does not show the free memory: {e!r}")
    asked_mib = memory.free_mib * options.memory_percent // 100 - SYSTEM_MIB
    if asked_mib < LEAST_MIB:
        return not_started(f"{memory.free_mib} of {memory.node_mib} MiB are free", NO_ROOM)
    why = bind_memory(memory.bound_to, interleaved=False) if memory.bound_to else ""
    if why:
        return not_started(f"memory cannot be taken from NUMA nodes with processors alone: {why}")
    threads = ["-m", str(options.threads)] if options.threads else []
    emit(schema_version=SCHEMA_VERSION, node_mib=memory.node_mib, free_mib=memory.free_mib, asked_mib=asked_mib, bound_to=memory.bound_to)
    try:
        process = subprocess.Popen(
            [options.program, "-W", "-s", str(options.seconds), "-M", str(asked_mib), *threads], stdin=subprocess.DEVNULL
        )
    except OSError as e:
        return not_started(f"{options.program}: {e.strerror}", NO_STRESSAPPTEST)
    with suppress(OSError):  # it has ended already
        Path(f"/proc/{process.pid}/oom_score_adj").write_text("1000", encoding="ascii")
    status = process.wait()
    emit(exit_status=status, oom_kills=oom_kills(root) - kills)
    return ENDED_BADLY if status else 0


def main(words: list[str], root: Path = Path("/")) -> int:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--memory-percent", type=int, default=95)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--program", default="stressapptest")
    parser.add_argument("--version", action="store_true")
    options = parser.parse_args(words)
    return version(options.program) if options.version else load(options, root)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
