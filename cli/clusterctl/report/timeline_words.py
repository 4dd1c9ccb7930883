"""What took the time of a run, in words: the line of its section, and the table that is in the page once, with or without a script. Pure."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from clusterctl.model.run_timeline import TimesFrom
from clusterctl.model.running_text import counted, duration_text, first_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clusterctl.model.run_timeline import NodeTimes, RunTimeline, TimeSpan

PHASE_HEADS = ("phase", "nodes", "first begin", "last end", "median", "slowest node", "last to end")
# A phase in which no node spent more has no slowest node: who it is means nothing.
_NOTHING_S = 1.0
# So many names are in a sentence.
_NAMED = 4
_SOURCES = {
    TimesFrom.PHASES: "",
    TimesFrom.STEPS: "This run recorded no phases of its own: they are from the states of its nodes, which change when the last node of a phase is through.",
    TimesFrom.ANSWERS: "",
    TimesFrom.GATES: "Only gates have times in this run, by the clocks of the nodes.",
    TimesFrom.NOTHING: "No times are recorded in this run.",
}


class TimelineWords(NamedTuple):
    """`summary`: all of it in a line; `notes`: remarks on it; `rows`: below PHASE_HEADS."""

    summary: str
    notes: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class PhaseTimes:
    """A phase of all nodes. `took`: node -> seconds that it spent in it; `ends`: node -> its last end; both of nodes whose ends are all recorded."""

    name: str
    begins: tuple[float, ...]
    took: Mapping[str, float]
    ends: Mapping[str, float]
    unended: int

    @property
    def slowest(self) -> str:
        """The node that took longest; empty where none ended, or none took any time."""
        node = max(self.took, key=self.took.__getitem__, default="")
        return node if node and self.took[node] >= _NOTHING_S else ""

    @property
    def last(self) -> str:
        """The node that ended last; empty where none ended."""
        return max(self.ends, key=self.ends.__getitem__, default="")


def timeline_words(timeline: RunTimeline) -> TimelineWords:
    """All of it."""
    phases = phase_times(timeline.nodes)
    return TimelineWords(_summary(timeline, phases), tuple(_notes(timeline)), tuple(map(_row, phases)))


def phase_times(nodes: Sequence[NodeTimes]) -> tuple[PhaseTimes, ...]:
    """The phases in the order of their first begin."""
    return tuple(sorted(_phases(nodes), key=lambda p: (min(p.begins), max(p.ends.values(), default=0.0))))


def _phases(nodes: Sequence[NodeTimes]) -> Iterator[PhaseTimes]:
    found: dict[str, dict[str, list[TimeSpan]]] = defaultdict(lambda: defaultdict(list))
    for node in nodes:
        for span in node.phases:
            found[span.what][node.node].append(span)
    for name, own in found.items():
        ended: dict[str, list[tuple[float, float]]] = {}
        for node_name, spans in own.items():
            pairs = [(s.began_s, s.ended_s) for s in spans if s.ended_s is not None]
            if len(pairs) == len(spans):
                ended[node_name] = pairs
        yield PhaseTimes(
            name,
            tuple(s.began_s for spans in own.values() for s in spans),
            {n: sum(end - begin for begin, end in pairs) for n, pairs in ended.items()},
            {n: max(end for _, end in pairs) for n, pairs in ended.items()},
            len(own) - len(ended),
        )


def _row(phase: PhaseTimes) -> tuple[str, ...]:
    number = len(phase.took) + phase.unended
    nodes = f"{number}, {phase.unended} without an end" if phase.unended else str(number)
    begin = duration_text(min(phase.begins))
    if not phase.took:
        return (phase.name, nodes, begin, "not recorded", "", "", "")
    slowest, last = phase.slowest, phase.last
    return (
        phase.name,
        nodes,
        begin,
        duration_text(phase.ends[last]),
        duration_text(median(phase.took.values())),
        f"{slowest}: {duration_text(phase.took[slowest])}" if slowest else "",
        f"{last}: {duration_text(phase.ends[last])}",
    )


def _summary(timeline: RunTimeline, phases: Sequence[PhaseTimes]) -> str:
    """`3 min 56 s: check 4 s, apply 2 min 17 s (slowest r1-n2) ...`."""
    whole = duration_text(timeline.length_s) + ("" if timeline.is_over else " until now")
    parts = []
    for phase in phases:
        if phase.took:
            took = duration_text(max(phase.ends.values()) - min(phase.begins))
            parts.append(f"{phase.name} {took}" + (f" (slowest {phase.slowest})" if phase.slowest and len(phase.took) > 1 else ""))
        else:
            parts.append(f"{phase.name} without an end")
    return f"{whole}: {', '.join(parts) or 'no phases recorded'}"


def _notes(timeline: RunTimeline) -> Iterator[str]:
    if timeline.damaged:
        yield f"Its own times cannot be read: {timeline.damaged}"
    if note := _SOURCES[timeline.came_from]:
        yield note
    never = [n.node for n in timeline.nodes if not n.phases]
    if never and timeline.came_from is not TimesFrom.NOTHING:
        yield f"{counted(len(never), 'node')} began no phase: {first_of(never, _NAMED)}."
    if not timeline.has_end:
        yield "The run was killed and its end is not recorded: the picture ends with the last time that is."
    if any(s.ended_s is None for n in timeline.nodes for s in n.phases):
        yield "A bar with a dashed edge has no recorded end: " + ("the run was cut off in it." if timeline.is_over else "the run goes on.")
    if timeline.out_of_order:
        yield f"{counted(timeline.out_of_order, 'time')} left out: the end is before the begin, or the begin before the run. A clock was set meanwhile, or the record is damaged."
    if timeline.other_clocks:
        yield f"Gates of {counted(len(timeline.other_clocks), 'node')} not drawn, because they are outside of the run by the clock of the node: {first_of(timeline.other_clocks, _NAMED)}."
