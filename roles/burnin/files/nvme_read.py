"""Reads all NVMe data disks of a node at the same time with fio, and prints one JSON object per line: what is read, then one for each disk.

nvme_read.py --seconds S [--program fio] [--ioengine libaio]

It writes nothing to a disk: fio opens them read-only, creates no files and flushes no caches. A data disk is an NVMe disk of this machine without a system file
system on it or on anything that is made of it, as the validators count them. Standard library only, Python 3.8.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA_VERSION = 1
LSBLK = ("lsblk", "-J", "-o", "NAME,TYPE,MOUNTPOINT")
SYSTEM_TARGETS = ("/", "/boot", "/boot/efi", "/usr", "/var", "[SWAP]")
# The kernel gives up a command of a disk after 30 s (nvme_core.io_timeout), and aborts it first.
END_S = 90
ERROR_LIMIT = 500
NO_FIO, NO_LIST = 3, 4


class Reader(NamedTuple):
    """A running fio, and the files that it prints to."""

    disk: str
    process: subprocess.Popen[bytes]
    out: IO[bytes]
    err: IO[bytes]


def fio_argv(program: str, disk: str, seconds: int, ioengine: str) -> list[str]:
    """The command that reads one disk. Options: HOWTO.rst of fio; `readonly` refuses writes and trims, `invalidate` would flush the cache of a mounted disk."""
    job = {"name": disk, "filename": f"/dev/{disk}", "rw": "read", "bs": "1M", "iodepth": "32", "ioengine": ioengine, "direct": "1"}
    limits = {"runtime": str(seconds), "invalidate": "0", "allow_file_create": "0", "output-format": "json"}
    return [program, "--readonly", "--time_based", "--eta=never", *(f"--{name}={value}" for name, value in {**job, **limits}.items())]


def data_disks(listed: str) -> list[str]:
    """The NVMe disks in the output of LSBLK that have no system file system."""
    disks = [d for d in json.loads(listed)["blockdevices"] if d.get("type") == "disk" and "nvme" in str(d.get("name"))]
    return sorted(str(d["name"]) for d in disks if not any(e.get("mountpoint") in SYSTEM_TARGETS for e in walk(d)))


def is_local(disk: str, sys_root: Path) -> bool:
    """Whether a disk is in this machine, and not reached over a network; with native multipath its controllers are below its subsystem."""
    owner = sys_root / "block" / disk / "device"
    found = [text(file) for file in (owner / "transport", *owner.glob("nvme*/transport")) if file.is_file()]
    return not found or "pcie" in found


def walk(entry: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A device and all that is made of it."""
    yield entry
    for child in entry.get("children") or []:
        yield from walk(child)


def place_of(disk: str, sys_root: Path) -> dict[str, str]:
    """Model, PCI address and NUMA node of a disk, as far as the kernel shows them."""
    owner = sys_root / "block" / disk / "device"
    # With native multipathing a disk belongs to a subsystem, and its controllers are below that (Linux, nvme_mpath_set_live and nvme_init_subsystem).
    controllers = [owner, *sorted(p for p in owner.glob("nvme*") if re.match(r"nvme\d+$", p.name))]
    controller = next((c for c in controllers if (c / "address").is_file()), owner)
    return {"model": text(owner / "model"), "address": text(controller / "address"), "numa_node": text(controller / "device" / "numa_node")}


def text(file: Path) -> str:
    """The content of a file; empty if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def start(argv: list[str], disk: str) -> Reader:
    """Start fio. Its output goes to files, so that a disk which never answers holds up no other one."""
    out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 closed with the program
    return Reader(disk, subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err), out, err)


def result_of(reader: Reader, until: float) -> dict[str, Any]:
    """Exit status and output of a reader; `error` where it did not end."""
    error = ""
    try:
        reader.process.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        # Not waited for: a process that waits for a dead disk cannot be ended.
        reader.process.kill()
        error = "fio did not end: the disk does not answer"
    printed, complaint = (content(file) for file in (reader.out, reader.err))
    return {"exit_status": reader.process.returncode, "output": printed, "error": error or complaint.strip()[-ERROR_LIMIT:]}


def content(file: IO[bytes]) -> str:
    """What was printed so far."""
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def emit(**values: Any) -> None:
    """Print a line."""
    sys.stdout.write(json.dumps(values, sort_keys=True) + "\n")
    sys.stdout.flush()


def main(words: list[str], sys_root: Path = Path("/sys")) -> int:
    """Read the disks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--program", default="fio")
    parser.add_argument("--ioengine", default="libaio")
    options = parser.parse_args(words)
    try:
        listed = subprocess.run(LSBLK, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=True)
        disks = [d for d in data_disks(listed.stdout.decode("utf-8", "replace")) if is_local(d, sys_root)]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError, AttributeError) as e:
        emit(problem=f"lsblk: {e}")
        return NO_LIST
    emit(schema_version=SCHEMA_VERSION, disks=disks, seconds=options.seconds)
    try:
        readers = [start(fio_argv(options.program, disk, options.seconds, options.ioengine), disk) for disk in disks]
    except OSError as e:
        emit(problem=f"{options.program}: {e.strerror}")
        return NO_FIO
    until = time.monotonic() + options.seconds + END_S
    for reader in readers:
        emit(disk=reader.disk, **place_of(reader.disk, sys_root), **result_of(reader, until))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
