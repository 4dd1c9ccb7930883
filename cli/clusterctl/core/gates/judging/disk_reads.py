"""What fio read from each disk of a node, or why it did not. Pure."""

from __future__ import annotations

import errno
from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.core.gates.judging.limits import limit_text
from clusterctl.core.parsers import UnparsableError
from clusterctl.core.parsers.fio import job_error
from clusterctl.core.parsers.nvme_read import samples_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterctl.model.gate_result import RawRecord, Sample
    from clusterctl_tools.nvme_read import DiskRead, NvmeRun

BANDWIDTH = "read_bandwidth"
_RUNTIME = "read_runtime"
_LEAST_SHARE = 0.9
_NO_DISKS = "no NVMe data disk is declared (hardware_nvme_data_disks), and none was found"
_SOURCE = "block/blk-core.c of Linux: the errors that a disk's status becomes"
# Those of a disk and its link; others (no memory, not supported, no permission) do not concern the disk. ENXIO: it is gone.
_DISK_ERRORS = {
    errno.EIO: "EIO, I/O error",
    errno.ENODATA: "ENODATA, medium error",
    errno.EILSEQ: "EILSEQ, protection error",
    errno.EREMOTEIO: "EREMOTEIO, target error",
    errno.ENOLINK: "ENOLINK, transport error",
    errno.ETIMEDOUT: "ETIMEDOUT, it did not answer",
    errno.ENODEV: "ENODEV, it is offline",
    errno.ENXIO: "ENXIO, it is gone",
}


def read_disks(record: RawRecord, output: NvmeRun, declared: int, requested_s: float) -> tuple[tuple[GateResult, ...], tuple[Sample, ...]]:
    """What is wrong, and the samples of the disks that were read for `requested_s`; `declared`: how many there must be, 0 = not declared."""
    problems = list(_missing(record, output, declared))
    samples: list[Sample] = []
    for read in output.reads:
        found = _read(record, read, requested_s)
        if isinstance(found, GateResult):
            problems.append(found)
        else:
            samples += found
    return tuple(problems), tuple(samples)


def _missing(record: RawRecord, output: NvmeRun, declared: int) -> Iterator[GateResult]:
    disks, reported = output.disks or (), {r.disk for r in output.reads}
    if not disks and not declared:
        nothing = _broken(record, "", GateReason.NOT_COVERED, _NO_DISKS)
        yield replace(nothing, outcome=Outcome.NOT_APPLICABLE, rule="disks")
    elif len(disks) < declared:
        detail = f"{len(disks)} NVMe data disks were found ({', '.join(disks) or 'none'}), {declared} are declared"
        yield replace(_broken(record, "", GateReason.INCOMPLETE, detail), expected=f">= {declared}", found=str(len(disks)))
    for disk in disks:
        if disk not in reported:
            yield _broken(record, disk, GateReason.INCOMPLETE, f"no result of {disk} came back")


def _read(record: RawRecord, read: DiskRead, requested_s: float) -> tuple[Sample, ...] | GateResult:
    """The samples of one disk, or why they are not evidence."""
    try:
        error = job_error(read.output)
    except UnparsableError:
        error = 0
    if error or read.exit_status != 0:
        return _ended(record, read, error)
    try:
        samples = samples_of(read)
    except UnparsableError as e:
        return _broken(record, read.disk, GateReason.UNPARSABLE, f"{read.disk}: {e}")
    ran = next(s.value for s in samples if s.metric == _RUNTIME)
    if ran < _LEAST_SHARE * requested_s:
        return _broken(
            record, read.disk, GateReason.WRONG_RUN, f"{read.disk} was read for {limit_text(ran)} of {limit_text(requested_s)} s"
        )
    return samples


def _ended(record: RawRecord, read: DiskRead, error: int) -> GateResult:
    """Of a read that ended with an error, or did not end."""
    if error in _DISK_ERRORS:
        failed = _broken(record, read.disk, GateReason.TEST_FAILED, f"fio on {read.disk} ended with error {error}: {_DISK_ERRORS[error]}")
        return replace(failed, outcome=Outcome.FAIL, rule="read", expected="no error", found=_DISK_ERRORS[error], source=_SOURCE)
    if read.exit_status is None:
        return _broken(record, read.disk, GateReason.TIMED_OUT, f"{read.disk}: {read.error}")
    status = f"error {error}" if error else f"exit status {read.exit_status}"
    return _broken(record, read.disk, GateReason.TOOL_FAILED, f"fio on {read.disk} ended with {status}: {read.error or 'no message'}")


def _broken(record: RawRecord, disk: str, reason: GateReason, detail: str) -> GateResult:
    return GateResult(record.gate, record.node, Outcome.COULD_NOT_RUN, "complete", device=disk, detail=detail, reason=reason)
