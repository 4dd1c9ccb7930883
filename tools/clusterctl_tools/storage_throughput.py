"""storage_throughput.py of the burn-in: the nodes of a group write, read and lock files on a shared file system at the same time.

The program is clusterctl's own (role burnin) and needs nothing but Python.
"""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from .json_lines import list_in, object_in, text_in

PROGRAM = "storage_throughput.py"
NOT_MOUNTED, IO_ERROR, ALONE, NO_SPACE = 3, 4, 5, 6
# The content is compared in blocks.
BLOCK_MIB = 4
# It waits no longer for the answer to a write.
NEVER_S = 10
LOCK_KINDS = ("flock", "fcntl")
GRANTED, REFUSED = "granted", "refused"

# Above all that is measured; a number with more digits is none of the program's.
_MOST = 1 << 62
# Places of wrong blocks that it prints.
_SHOWN = 8
_PHASES = ("write", "read", "other_read", "small_files", "lock", "seen")


class StorageLoad(NamedTuple):
    """What each node of a group does on the file system.

    Attributes:
        folder: below the mount, in which the folder of the run is made.
        files: written and read at the same time, each of `file_mib`.
        asks: how many questions each node sends to the next one by a write.
        phase_s: no phase goes on for longer; limit_s: of the whole run.
    """

    folder: str
    files: int
    file_mib: int
    small_files: int
    asks: int
    phase_s: int
    limit_s: int


class Transfer(NamedTuple):
    """Bytes that were written or read, of those that were to be."""

    done_bytes: int
    asked_bytes: int
    duration_s: float


class FileRate(NamedTuple):
    """How many small files were made, looked at or removed."""

    done: int
    duration_s: float


class LockTry(NamedTuple):
    """A lock of this node, and that of the next one.

    Attributes:
        held: this node got its own lock.
        while_held, when_free: the answer about the lock of the next node, `granted` or `refused`; empty where it was not requested.
    """

    kind: str
    held: bool
    while_held: str
    when_free: str


class StorageError(NamedTuple):
    """An error of the file system: the phase that it ended, its name (`EIO`) and its text."""

    phase: str
    code: str
    detail: str


class StorageRun(NamedTuple):
    """The output of one node, complete or not.

    Attributes:
        mount, fstype, source: as the kernel names them; empty where it ended before it found them.
        number, nodes: of the node in its group, from 0 on, and of how many.
        direct: it read past the cache of the node.
        wrong: how many blocks had another content than was written; wrong_first: (file, block) of the first ones.
        other_read: of the first file of the next node; other_wrong: blocks with another content than that one wrote.
        files: `create`, `stat`, `remove` -> what was done.
        round_trips_s: from a write to the answer of the next node, which is a write, too; asked: how many questions that are answers to.
        problem: what ended it: `not_mounted`, `no_space`, `io_error`, `alone`; detail: the same for people.
        missing: numbers of the nodes that did not come or left, as far as this one could find out.
        ended: it went to its end.
    """

    mount: str
    fstype: str
    source: str
    number: int
    nodes: int
    written: Optional[Transfer]
    read: Optional[Transfer]
    direct: bool
    wrong: int
    wrong_first: Tuple[Tuple[int, int], ...]
    other_read: Optional[Transfer]
    other_wrong: int
    files: Dict[str, FileRate]
    locks: Tuple[LockTry, ...]
    round_trips_s: Tuple[float, ...]
    asked: Optional[int]
    errors: Tuple[StorageError, ...]
    problem: str
    detail: str
    missing: Tuple[int, ...]
    ended: bool


def storage_argv(mount: str, key: str, index: int, count: int, load: StorageLoad) -> Sequence[str]:
    """The command of one node; `key` is the same on all nodes of a group, and another one for each file system."""
    words = {"--mount": mount, "--folder": load.folder, "--key": key, "--index": index, "--count": count}
    sizes = {"--files": load.files, "--file-mib": load.file_mib, "--small-files": load.small_files, "--asks": load.asks}
    times = {"--phase-s": load.phase_s, "--limit-s": load.limit_s}
    return ("python3", PROGRAM, *(str(word) for pair in {**words, **sizes, **times}.items() for word in pair))


def read_run(text: str) -> StorageRun:
    """The output of a run, complete or not.

    Raises:
        ValueError: a line is not one of its lines, a phase occurs twice, or none names the mount or a problem.
    """
    lines: Dict[str, Dict[str, Any]] = {}
    locks: Dict[str, LockTry] = {}
    errors: List[StorageError] = []
    for line in filter(str.strip, text.splitlines()):
        values = object_in(line)
        name = "problem" if "problem" in values else "head" if "schema_version" in values else text_in(values, "phase")
        if "error" in values:
            errors.append(StorageError(name, text_in(values, "error"), text_in(values, "detail")))
        elif name == "lock":
            found = _lock(values)
            if locks.setdefault(found.kind, found) is not found:
                raise ValueError("its lock {} occurs twice".format(found.kind))
        elif lines.setdefault(name, values) is not values:
            raise ValueError("its {} occurs twice".format(name))
    if set(lines) - {*_PHASES, "head", "problem", "end"} or {e.phase for e in errors} - set(_PHASES):
        raise ValueError("it has a phase that is not known")
    if not {"head", "problem"} & set(lines):
        raise ValueError("it has no line that names the mount")
    return _run(lines, tuple(locks.values()), tuple(errors))


def _run(lines: Dict[str, Dict[str, Any]], locks: Tuple[LockTry, ...], errors: Tuple[StorageError, ...]) -> StorageRun:
    head, read, seen, problem = (lines.get(name) for name in ("head", "read", "seen", "problem"))
    index, count = (_number(head, "index"), _number(head, "count")) if head else (0, 0)
    if head and not index < count:
        raise ValueError("it is number {} of {}".format(index, count))
    wrong, wrong_first = _wrong(read)
    other = lines.get("other_read")
    trips = tuple(_seconds(value) for value in list_in(seen, "round_trips_s")) if seen else ()
    return StorageRun(
        mount=text_in(head, "mount") if head else "",
        fstype=text_in(head, "fstype") if head else "",
        source=text_in(head, "source") if head else "",
        number=index,
        nodes=count,
        written=_transfer(lines["write"]) if "write" in lines else None,
        read=_transfer(read) if read else None,
        direct=bool(read and read.get("direct") is True),
        wrong=wrong,
        wrong_first=wrong_first,
        other_read=_transfer(other) if other else None,
        other_wrong=_wrong(other)[0],
        files=_rates(lines["small_files"]) if "small_files" in lines else {},
        locks=locks,
        round_trips_s=trips,
        asked=_number(seen, "asked") if seen else None,
        errors=errors,
        problem=text_in(problem, "problem") if problem else "",
        detail=text_in(problem, "detail") if problem else "",
        missing=tuple(_whole(value) for value in list_in(problem, "missing")) if problem and "missing" in problem else (),
        ended="end" in lines,
    )


def _transfer(values: Dict[str, Any]) -> Transfer:
    done, total = _number(values, "bytes"), _number(values, "asked_bytes")
    if done > total:
        raise ValueError("{} of {} bytes were transferred".format(done, total))
    return Transfer(done, total, _seconds(values.get("duration_s")))


def _wrong(read: Optional[Dict[str, Any]]) -> Tuple[int, Tuple[Tuple[int, int], ...]]:
    """How many blocks are wrong, and where the first ones are."""
    if read is None:
        return 0, ()
    wrong, first = _number(read, "wrong"), tuple(_place(value) for value in list_in(read, "wrong_first"))
    if len(first) != min(wrong, _SHOWN):
        raise ValueError("{} of its blocks are wrong, and {} places are named".format(wrong, len(first)))
    return wrong, first


def _rates(values: Dict[str, Any]) -> Dict[str, FileRate]:
    names = {"create": "created", "stat": "stated", "remove": "removed"}
    return {name: FileRate(_number(values, done), _seconds(values.get(name + "_s"))) for name, done in names.items()}


def _lock(values: Dict[str, Any]) -> LockTry:
    kind, held, answers = text_in(values, "kind"), values.get("held"), tuple(text_in(values, name) for name in ("while_held", "when_free"))
    if kind not in LOCK_KINDS or not isinstance(held, bool) or set(answers) - {GRANTED, REFUSED, ""}:
        raise ValueError("its lock is {!r}".format(values))
    return LockTry(kind, held, *answers)


def _place(value: Any) -> Tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2:  # noqa: PLR2004 file and block
        raise ValueError("its place is {!r}".format(value))
    return _whole(value[0]), _whole(value[1])


def _number(values: Dict[str, Any], name: str) -> int:
    return _whole(values.get(name))


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MOST:
        raise ValueError("a number in it is {!r}".format(value))
    return value


def _seconds(value: Any) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < _MOST:
        raise ValueError("a time in it is {!r}".format(value))
    return float(value)
