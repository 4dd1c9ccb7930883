"""nvme_read.py: what fio read from each NVMe data disk of a node."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.core.parsers import fio
from clusterctl.core.parsers.unparsable import UnparsableError
from clusterctl_tools.nvme_read import DiskRead, NvmeRun, read_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterctl.model.gate_result import Sample

TOOL = "nvme_read"


def read_output(text: str) -> NvmeRun:
    """The output of a run that listed the disks, whatever the result of each.

    Raises:
        UnparsableError: it is another output, is cut off within a line, or ended before it listed the disks.
    """
    try:
        run = read_run(text.replace("\ufeff", ""))
    except ValueError as e:
        raise UnparsableError(tool=TOOL, reason=str(e)) from e
    if run.problem or run.disks is None:
        raise UnparsableError(tool=TOOL, reason=run.problem)
    return run


def samples_of(read: DiskRead) -> tuple[Sample, ...]:
    """What fio read from one disk; `device` is the disk, `detail` its model.

    Raises:
        UnparsableError: fio failed or printed no complete output, it read nothing, or nothing names the model.
    """
    if read.exit_status != 0:
        raise UnparsableError(tool=TOOL, reason=f"fio on {read.disk} ended with exit status {read.exit_status}: {read.error}")
    if not read.model:
        raise UnparsableError(tool=TOOL, reason=f"the model of {read.disk} is not known")
    samples = [replace(s, device=read.disk, op="", detail=read.model) for s in fio.parse(read.output) if s.metric.startswith("read_")]
    if len(samples) != len({s.metric for s in samples}) or {"read_bandwidth", "read_runtime"} - {s.metric for s in samples}:
        raise UnparsableError(tool=TOOL, reason=f"fio did not read {read.disk} once")
    return tuple(samples)


def parse(text: str) -> tuple[Sample, ...]:
    """Per disk `read_bandwidth` (GB/s), `read_iops`, `read_latency_mean` (us), `read_runtime` (s).

    Raises:
        UnparsableError: it is not the output of a whole run in which every disk was read.
    """
    run = read_output(text)
    missing = sorted(set(run.disks or ()) - {r.disk for r in run.reads})
    if missing or not run.reads:
        raise UnparsableError(tool=TOOL, reason=f"nothing was read from {', '.join(missing) or 'any disk'}")
    return tuple(_all(run))


def _all(run: NvmeRun) -> Iterator[Sample]:
    for read in run.reads:
        yield from samples_of(read)
