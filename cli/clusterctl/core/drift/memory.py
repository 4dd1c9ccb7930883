"""First and last seen: a deviation found in two runs is one unless its check passed in a run in between. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterctl.core import timestamps

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.model.drift import Deviation, DriftReport

_UNITS_S = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}


@dataclass(frozen=True, slots=True)
class Seen:
    """An open deviation as the store keeps it."""

    node: str
    check: str
    first_seen: str
    last_seen: str


def remember(report: DriftReport, before: Iterable[Seen], now: str) -> tuple[DriftReport, tuple[Seen, ...]]:
    """The report with first and last seen, and what has ended.

    A node that did not answer and a check that could not run end nothing: the check did not pass.
    """
    before = tuple(before)
    first = {(s.node, s.check): s.first_seen for s in before}
    dated = tuple(replace(d, first_seen=first.get((d.node, d.check), now), last_seen=now) for d in report.deviations)
    ended = tuple(s for s in before if (s.node, s.check) in report.good)
    return replace(report, deviations=dated), ended


def since(report: DriftReport, duration_s: float, now: str) -> tuple[Deviation, ...]:
    """The deviations that were first seen within the last `duration_s` seconds."""
    edge = timestamps.after(now, -duration_s)
    return tuple(d for d in report.deviations if d.first_seen >= edge)


def seconds(duration: str) -> float:
    """`90m`, `24h`, `7d`, `2w` in seconds; ValueError on anything else."""
    number, unit = duration[:-1], duration[-1:]
    if unit not in _UNITS_S or not number.isascii() or not number.isdigit() or int(number) == 0:
        raise ValueError(f"{duration!r} is not a duration: write 90m, 24h, 7d or 2w")
    return int(number) * _UNITS_S[unit]
