"""The recorded times of a run -> the phases of each node. A time that cannot be is counted and left out, never an error. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from clusterctl.core.timestamps import FORMAT
from clusterctl.model.run_timeline import NodeTimes, RunTimeline, TimesFrom, TimeSpan
from clusterctl.model.state import State

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from clusterctl.model.records import TransitionRow
    from clusterctl.model.run_report import GateSpan
    from clusterctl.model.run_timeline import PhasePart

# What a node of a run goes through in a state, where only its states are recorded.
_IN_STATE = {State.PROVISIONING: "apply", State.PROVISIONED: "reboot and verify", State.VALIDATED: "burn in", State.BURNED_IN: "admit"}
_VALIDATE, _BURN_IN = "validate", "burn in"
# Two clocks that differ by less are not different.
_TOLERATED_S = 5.0


@dataclass(frozen=True, slots=True)
class TimeSources:
    """All that has times.

    Attributes:
        started_at, ended_at: of the run; `ended_at` is empty where no end is known.
        is_over: the run has ended, or was killed.
        nodes: in the order of the report.
        parts: phases from the run directory.
        steps: node -> its transitions in the run.
        answers: node -> (time, seconds) of each of its validations in a run that only validates.
        gates: node -> gate -> when it was measured in the run.
        damaged: why `parts` cannot be read.
        not_after: no time of the run is later; where it is empty, `ended_at` is that time.
    """

    started_at: str
    ended_at: str
    is_over: bool
    nodes: tuple[str, ...]
    parts: Sequence[PhasePart] = ()
    steps: Mapping[str, Sequence[TransitionRow]] = field(default_factory=dict)
    answers: Mapping[str, Sequence[tuple[str, float]]] = field(default_factory=dict)
    gates: Mapping[str, Mapping[str, GateSpan]] = field(default_factory=dict)
    damaged: str = ""
    not_after: str = ""


def run_timeline(sources: TimeSources) -> RunTimeline:
    """The phases of each node: as the run recorded them, else from transitions, answers or gates, whichever there are."""
    made = _Timeline(sources)
    came_from = made.collect()
    phases = {n: tuple(sorted(made.phases[n], key=lambda s: s.began_s)) for n in sources.nodes}
    nodes = tuple(NodeTimes(n, phases[n], tuple(made.gates[n])) for n in sources.nodes)
    known = [s for n in nodes for s in (*n.phases, *n.gates)]
    ends = [s.began_s if s.ended_s is None else s.ended_s for s in known]
    length = max([made.seconds(sources.ended_at) or 0.0, *ends])
    others = tuple(n for n in sources.nodes if n in made.other_clocks)
    return RunTimeline(length, nodes, came_from, sources.is_over, made.out_of_order, others, sources.damaged, bool(sources.ended_at))


class _Timeline:
    def __init__(self, sources: TimeSources) -> None:
        self._from = sources
        self._start = _moment(sources.started_at)
        self.phases: dict[str, list[TimeSpan]] = {n: [] for n in sources.nodes}
        self.gates: dict[str, list[TimeSpan]] = {n: [] for n in sources.nodes}
        self.out_of_order = 0
        self.other_clocks: set[str] = set()

    def seconds(self, at: str) -> float | None:
        """From the start of the run; None where either cannot be read."""
        moment = _moment(at)
        return None if moment is None or self._start is None else (moment - self._start).total_seconds()

    def collect(self) -> TimesFrom:
        """Fill in what there is; the source of the phases."""
        self._parts(self._from.parts)
        if self._from.parts:
            came_from = TimesFrom.PHASES
        elif any(self._from.steps.values()):
            came_from = TimesFrom.STEPS
            self._steps()
        elif any(self._from.answers.values()):
            came_from = TimesFrom.ANSWERS
            self._answers()
        else:
            came_from = TimesFrom.GATES if any(self._from.gates.values()) else TimesFrom.NOTHING
        self._gates(are_phases=came_from is TimesFrom.GATES)
        return came_from

    def _add(self, node: str, what: str, began_s: float | None, ended_s: float | None) -> None:
        if node not in self.phases:
            return
        if began_s is None or began_s < -_TOLERATED_S or (ended_s is not None and ended_s < began_s):
            self.out_of_order += 1
            return
        self.phases[node].append(TimeSpan(what, max(began_s, 0.0), None if ended_s is None else max(ended_s, 0.0)))

    def _parts(self, parts: Iterable[PhasePart]) -> None:
        for part in parts:
            at = self.seconds(part.began_at)
            for node in part.nodes:
                first, last = part.spans.get(node, (0.0, None))
                if last is None and part.is_over:
                    continue  # it was not heard of, so nothing is known of it
                began = None if at is None else at + first
                self._add(node, part.phase, began, None if began is None or last is None or not part.is_over else began + last - first)

    def _steps(self) -> None:
        for node, steps in self._from.steps.items():
            for one, other in pairwise((*steps, None)):
                if one is None or one.to_state not in _IN_STATE:
                    continue
                began, ended = self.seconds(one.at), self.seconds(other.at) if other else None
                if other and ended is None:
                    self.out_of_order += 1
                    continue
                self._add(node, _IN_STATE[one.to_state], began, ended)

    def _answers(self) -> None:
        for node, answers in self._from.answers.items():
            for at, took_s in answers:
                ended = self.seconds(at)
                self._add(node, _VALIDATE, None if ended is None else max(ended - took_s, 0.0), ended)

    def _gates(self, *, are_phases: bool) -> None:
        until = self.seconds(self._from.not_after or self._from.ended_at)
        for node in self.gates:
            for gate, span in self._from.gates.get(node, {}).items():
                began, ended = self.seconds(span.began_at), self.seconds(span.ended_at)
                if began is None or ended is None or ended < began:
                    self.out_of_order += 1
                elif began < -_TOLERATED_S or (until is not None and ended > until + _TOLERATED_S):
                    self.other_clocks.add(node)
                else:
                    self.gates[node].append(TimeSpan(gate, max(began, 0.0), max(ended, 0.0)))
            own = self.gates[node]
            if are_phases and own:
                self._add(node, _BURN_IN, min(s.began_s for s in own), max(s.ended_s or 0.0 for s in own))


def _moment(at: str) -> datetime | None:
    try:
        return datetime.strptime(at, FORMAT)  # noqa: DTZ007 all times of the store are UTC
    except ValueError:
        return None
