"""What took the time of a run -> what the page draws. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.report.inert import visible
from clusterctl.report.timeline_words import phase_times

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.model.run_timeline import RunTimeline, TimeSpan

_TENTHS = 10
_OPEN = -1


@dataclass(frozen=True, slots=True)
class TimelineData:
    """The picture. Times are tenths of a second since the run began; an end of -1 is not recorded.

    Attributes:
        is_over: 0 or 1.
        phases, gates: names, phases in the order of their first begin.
        nodes, node_gates: of each node of the page (phase or gate, begin, end, phase or gate, ...).
        slowest: of each phase the place of its slowest node; -1 where it has none.
    """

    length: int
    is_over: int
    phases: tuple[str, ...]
    gates: tuple[str, ...]
    nodes: tuple[tuple[int, ...], ...]
    node_gates: tuple[tuple[int, ...], ...]
    slowest: tuple[int, ...]


def timeline_data(timeline: RunTimeline) -> TimelineData:
    """The picture."""
    phases = phase_times(timeline.nodes)
    names = tuple(p.name for p in phases)
    gates = tuple(dict.fromkeys(g.what for n in timeline.nodes for g in n.gates))
    places = {n.node: i for i, n in enumerate(timeline.nodes)}
    return TimelineData(
        length=round(timeline.length_s * _TENTHS),
        is_over=int(timeline.is_over),
        phases=tuple(map(visible, names)),
        gates=tuple(map(visible, gates)),
        nodes=tuple(_flat(n.phases, names) for n in timeline.nodes),
        node_gates=tuple(_flat(n.gates, gates) for n in timeline.nodes),
        slowest=tuple(places.get(p.slowest, -1) for p in phases),
    )


def _flat(spans: Sequence[TimeSpan], names: Sequence[str]) -> tuple[int, ...]:
    ends = (_OPEN if s.ended_s is None else round(s.ended_s * _TENTHS) for s in spans)
    return tuple(i for s, end in zip(spans, ends, strict=True) for i in (names.index(s.what), round(s.began_s * _TENTHS), end))
