"""training_proxy.py: how long the steps of each rank of a node took, apart from waiting for others and with it."""

from __future__ import annotations

from statistics import median, quantiles
from typing import TYPE_CHECKING

from clusterctl.core.parsers.unparsable import UnparsableError
from clusterctl.model.gate_result import Sample
from clusterctl_tools.training_proxy import WHOLE, read_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clusterctl_tools.training_proxy import RankRun, TrainingRun

TOOL = "training_proxy"
STEP, COMPUTE, COMMUNICATION = "step_time", "compute_time", "communication_time"
UNIT = "ms"
_P99 = "_p99"
METRICS = tuple(metric + part for metric in (STEP, COMPUTE, COMMUNICATION) for part in ("", _P99))
# The first steps select kernels and connect; the loss is compared over as many.
TENTH = 10


def tenth_of(steps: int) -> int:
    """How many steps are the first tenth, at least one."""
    return max(1, steps // TENTH)


def read_training_run(text: str) -> TrainingRun:
    """The output of a node that went to its end, whatever it found.

    Raises:
        UnparsableError: it is another output, is cut off, or ended early.
    """
    try:
        run = read_run(text.replace("\ufeff", ""))
    except ValueError as e:
        raise UnparsableError(tool=TOOL, reason=str(e)) from e
    if run.problem or not run.ended:
        raise UnparsableError(tool=TOOL, reason=run.detail or run.problem or "it ended before its last line")
    if len(run.of(WHOLE)) != run.part.ranks or any(len(r.losses) <= TENTH for r in run.of(WHOLE)):
        raise UnparsableError(tool=TOOL, reason="a rank is missing in it, or most of its steps")
    return run


def parse(text: str) -> tuple[Sample, ...]:
    """Of each rank `step_time`, `compute_time` and `communication_time` (ms, the median), and the same with `_p99`; without the first tenth of steps.

    Raises:
        UnparsableError: it is not the output of a node that went to its end.
    """
    return tuple(sample for rank in read_training_run(text).of(WHOLE) for sample in _samples(rank))


def _samples(rank: RankRun) -> Iterator[Sample]:
    first = tenth_of(len(rank.losses))
    compute, communicate = rank.compute_s[first:], rank.communicate_s[first:]
    together = tuple(a + b for a, b in zip(compute, communicate, strict=True))
    for metric, times in ((STEP, together), (COMPUTE, compute), (COMMUNICATION, communicate)):
        yield _sample(rank, metric, median(times))
        yield _sample(rank, metric + _P99, _p99(times))


def _p99(times: Sequence[float]) -> float:
    return quantiles(times, n=100, method="inclusive")[-1]


def _sample(rank: RankRun, metric: str, seconds: float) -> Sample:
    return Sample(metric, 1000 * seconds, UNIT, device=f"gpu{rank.gpu}")
