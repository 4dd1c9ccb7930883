"""nvme_read.py of the burn-in: all NVMe data disks of a node are read at the same time with fio, and nothing is written to them.

The program is clusterctl's own (role burnin); fio is of the site's package.
"""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from .json_lines import object_in, text_in

PROGRAM = "nvme_read.py"
NO_FIO = 3
# It gives up a disk that does not answer so long after the time.
END_S = 90

_SECONDS = "--seconds"


class DiskRead(NamedTuple):
    """What fio printed about one disk.

    Attributes:
        disk: `nvme0n1`; address: of its PCI device, empty where the kernel shows none, as does `numa_node`.
        exit_status: None where fio did not end.
        output: of fio, not read yet; error: what it printed to stderr, or why it did not end.
    """

    disk: str
    model: str
    address: str
    numa_node: str
    exit_status: Optional[int]
    output: str
    error: str


class NvmeRun(NamedTuple):
    """The output of a run.

    Attributes:
        disks: the data disks of the node; None where it ended before it found them.
        reads: of each disk that it reported on, in this order.
        problem: what ended it.
    """

    disks: Optional[Tuple[str, ...]]
    reads: Tuple[DiskRead, ...]
    problem: str


def read_argv(seconds: int, *, program: str = "fio", ioengine: str = "libaio") -> Sequence[str]:
    """The command that reads all data disks for so long."""
    return ("python3", PROGRAM, _SECONDS, str(seconds), "--program", program, "--ioengine", ioengine)


def requested_s(argv: Sequence[str]) -> float:
    """The read time that `read_argv` requested; 0 for another command."""
    words = list(argv)
    return float(words[words.index(_SECONDS) + 1]) if _SECONDS in words[:-1] else 0.0


def read_run(text: str) -> NvmeRun:
    """The output of a run, complete or not.

    Raises:
        ValueError: a line is not one of its lines, a disk occurs twice or was not announced, or none names the disks or a problem.
    """
    disks: Optional[Tuple[str, ...]] = None
    reads: List[DiskRead] = []
    problem = ""
    for line in filter(str.strip, text.splitlines()):
        values = object_in(line)
        if "problem" in values:
            problem = text_in(values, "problem")
        elif "schema_version" in values and disks is None:
            disks = _disks(values)
        else:
            reads.append(_read(values))
    named = [r.disk for r in reads]
    if disks is None and not problem:
        raise ValueError("it has no line that names the disks")
    if len(set(named)) != len(named) or set(named) - set(disks or ()):
        raise ValueError("a disk is reported twice, or was not to be read")
    return NvmeRun(disks, tuple(reads), problem)


def _disks(values: Dict[str, Any]) -> Tuple[str, ...]:
    disks = values.get("disks")
    if not isinstance(disks, list) or not all(isinstance(d, str) and d for d in disks) or len(set(disks)) != len(disks):
        raise ValueError("its disks are {!r}".format(disks))
    return tuple(disks)


def _read(values: Dict[str, Any]) -> DiskRead:
    status = values.get("exit_status", "")
    if status is not None and (not isinstance(status, int) or isinstance(status, bool)):
        raise ValueError("its exit status is {!r}".format(status))
    named = {name: text_in(values, name) for name in ("disk", "model", "address", "numa_node", "output", "error")}
    return DiskRead(exit_status=status, **named)
