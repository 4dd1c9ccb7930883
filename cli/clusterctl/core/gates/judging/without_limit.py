"""Figures that a limit could judge and none does: measured, shown, and what a first limit is learned from. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.gates.judging.limits import applicable, deciding, limit_text
from clusterctl.model.gate_result import GateResult, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clusterctl.core.gates.judging.direction import Direction
    from clusterctl.model.gate_result import Baseline, Figure, Sample

NO_LIMIT = "no_limit"


def without_limit(
    node: str, figures: Sequence[Figure], samples: Sequence[Sample], baselines: Sequence[Baseline], direction: Direction
) -> Iterator[GateResult]:
    """The worst value on one node of each figure that no baseline limits, not judged."""
    limits = deciding(applicable(baselines, 1), direction)
    for figure in figures:
        if any(covers(entry, figure) for entry in limits):
            continue
        own = [s for s in samples if _is_of(s, figure)]
        if own:
            worst = min(own, key=lambda s: direction.rank(s.value))
            yield GateResult(
                gate=figure.gate,
                node=node,
                outcome=Outcome.NOT_APPLICABLE,
                rule=NO_LIMIT,
                metric=figure.metric,
                found=f"{limit_text(worst.value)} {figure.unit}",
                device="" if worst.peer_device else worst.device,
                detail=f"no {direction.limit} is declared: measured, not judged",
                value=worst.value,
                unit=figure.unit,
                op=figure.op,
                size_bytes=figure.size_bytes or None,
            )


def covers(entry: Baseline, figure: Figure) -> bool:
    """Whether a baseline is of a figure; one without an operation or a size is of any."""
    own = entry.figure
    return (
        (own.gate, own.metric, own.unit) == (figure.gate, figure.metric, figure.unit)
        and (own.op in ("", figure.op) or not figure.op)
        and (own.size_bytes in (0, figure.size_bytes) or not figure.size_bytes)
    )


def _is_of(sample: Sample, figure: Figure) -> bool:
    return (
        (sample.metric, sample.unit) == (figure.metric, figure.unit)
        and not sample.status
        and figure.op in ("", sample.op)
        and (not figure.size_bytes or sample.size_bytes == figure.size_bytes)
    )
