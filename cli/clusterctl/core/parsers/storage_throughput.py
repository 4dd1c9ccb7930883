"""storage_throughput.py: what one node of a group wrote, read and did with small files on a shared file system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.parsers.unparsable import UnparsableError
from clusterctl.model.gate_result import Sample
from clusterctl_tools.storage_throughput import LOCK_KINDS, StorageRun, read_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterctl_tools.storage_throughput import Transfer

TOOL = "storage_throughput"
WRITE, READ = "write_bandwidth", "read_bandwidth"
FILE_RATES = {"create": "file_creates", "stat": "file_stats", "remove": "file_removes"}
SEEN = "seen_round_trip"
# The clock of Python counts nanoseconds.
_SHORTEST_S = 1e-9
BANDWIDTH_UNIT, RATE_UNIT, SEEN_UNIT = "GB/s", "files/s", "s"


def read_storage_run(text: str) -> StorageRun:
    """The output of a run that went to its end, whatever it found.

    Raises:
        UnparsableError: it is another output, is cut off, or ended early.
    """
    try:
        run = read_run(text.replace("\ufeff", ""))
    except ValueError as e:
        raise UnparsableError(tool=TOOL, reason=str(e)) from e
    if run.problem or not run.ended or not run.mount:
        raise UnparsableError(tool=TOOL, reason=run.detail or run.problem or "it ended before its last phase")
    return run


def missing_phase(run: StorageRun, asks: int) -> str:
    """The phase that a run has neither a result nor an error of; empty where it has all. `asks`: the number of questions to write."""
    failed = {e.phase for e in run.errors}
    # Nothing is read of what could not be written.
    failed |= {"read"} if "write" in failed else set()
    there = {
        "write": run.written is not None,
        "read": run.read is not None,
        "other_read": run.other_read is not None,
        "small_files": set(run.files) == set(FILE_RATES),
        "lock": {lock.kind for lock in run.locks if lock.while_held and lock.when_free} == set(LOCK_KINDS),
        "seen": run.asked is not None and len(run.round_trips_s) <= run.asked <= asks and (len(run.round_trips_s) in (run.asked - 1, asks)),
    }
    return next((phase for phase, found in there.items() if not found and phase not in failed), "")


def parse(text: str) -> tuple[Sample, ...]:
    """Of one node: `write_bandwidth` and `read_bandwidth` (GB/s), `file_creates`, `file_stats`, `file_removes` (files/s), `seen_round_trip` (s, the longest).

    Raises:
        UnparsableError: it is not the output of a run that went to its end without an error.
    """
    run = read_storage_run(text)
    if run.errors:
        raise UnparsableError(tool=TOOL, reason=f"{run.errors[0].code} in phase {run.errors[0].phase}: {run.errors[0].detail}")
    return tuple(_samples(run))


def _samples(run: StorageRun) -> Iterator[Sample]:
    if run.written is None or run.read is None or set(run.files) != set(FILE_RATES) or not run.round_trips_s:
        raise UnparsableError(tool=TOOL, reason="a phase is missing in it")
    yield Sample(WRITE, _gbps(run.written), BANDWIDTH_UNIT, device=run.mount)
    yield Sample(READ, _gbps(run.read), BANDWIDTH_UNIT, device=run.mount)
    for name, metric in FILE_RATES.items():
        own = run.files[name]
        yield Sample(metric, _ratio(own.done, own.duration_s), RATE_UNIT, device=run.mount)
    yield Sample(SEEN, max(run.round_trips_s), SEEN_UNIT, device=run.mount)


def _gbps(transfer: Transfer) -> float:
    return _ratio(transfer.done_bytes, transfer.duration_s) / 1e9


def _ratio(count: int, duration_s: float) -> float:
    if not count or duration_s < _SHORTEST_S:
        raise UnparsableError(tool=TOOL, reason="nothing was done in one of its phases")
    return count / duration_s
