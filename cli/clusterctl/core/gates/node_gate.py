"""Gates of one node: each node runs one command by itself."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from clusterctl.core.gates.gate import Gate, S, Scope
from clusterctl.core.gates.judging.limits import compare_with_limits, limit_text
from clusterctl.core.gates.judging.missing_evidence import with_hint
from clusterctl.core.gates.judging.own_history import is_low, with_repeats
from clusterctl.core.gates.judging.peers import by_peers
from clusterctl.core.gates.judging.reading import Reading, gate_raised, not_run, read_record
from clusterctl.core.gates.judging.two_of_two import is_low_figure, needs_repeat, of_device_or_figure, two_of_two
from clusterctl.core.gates.judging.without_limit import without_limit
from clusterctl.core.gates.planning.step import AGAIN, GateStep, GateSteps, Side
from clusterctl.core.gates.settings import at_level
from clusterctl.model.gate_reason import GateReason

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from clusterctl.core.gates.judging.evidence import Evidence
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import Baseline, Figure, GateResult, RawRecord, Sample
    from clusterctl.model.level import Level

    _Place = tuple[Figure, str]


class NodeGate(Gate[S]):
    """A gate that needs no second node. A subclass has a command line; its default rule compares all samples with the baselines."""

    scope: ClassVar[Scope] = Scope.NODE

    def links_of(self, settings: S) -> str:  # noqa: ARG002 for gates to override
        """Vendor and class, as a pattern, of the PCI devices whose links are sampled while the command runs; empty = none."""
        return ""

    @abstractmethod
    def argv(self, settings: S, level: Level, subject: Subject) -> tuple[str, ...]:
        """The command line on one node."""

    def verdicts(self, subject: Subject, record: RawRecord, reading: Reading) -> Sequence[GateResult]:
        """The results of a record that has samples; hints may be left out."""
        if reading.rule:
            return (not_run(self, record, reading),)
        limits = self.limits_of(subject, 1)
        judged = compare_with_limits(self.name, subject.name, reading.samples, limits, nodes=1)
        return (*judged, *self.not_limited(subject, reading.samples, limits))

    def not_limited(self, subject: Subject, samples: Sequence[Sample], limits: Sequence[Baseline]) -> Sequence[GateResult]:
        """What was measured of the figures that have no limit."""
        figures = self.limited_figures(subject.profile.settings_of(self))
        return tuple(without_limit(subject.name, figures, samples, limits, self.direction))

    def plan(self, subjects: Sequence[Subject], level: Level, batches: Iterator[int]) -> GateSteps:
        """One step on each node, all at the same time."""
        batch = next(batches)
        return GateSteps({s.name: (self._step(s, level, batch),) for s in subjects})

    def judge(self, evidence: Evidence) -> tuple[GateResult, ...]:
        """Each node by its own records: a figure fails where both measurements fail, or the only one."""
        first, again = (self._measured(evidence, repeated=repeated) for repeated in (False, True))
        low, low_again = _with_low(first, evidence), _with_low({**first, **again}, evidence)
        results: list[GateResult] = []
        for name in (s.name for s in evidence.judged):
            own, repeat = first.get(name, ()), again.get(name, ())
            lowered = {r.figure for r in (*low.get(name, ()), *low_again.get(name, ())) if is_low_figure(r)}
            if repeat and lowered:
                records = [r for r in evidence.records if r.node == name]
                results += self._twice(lowered, low[name], low_again[name], records)
                own, repeat = ([r for r in some if r.figure not in lowered] for some in (own, repeat))
            results += with_repeats(own, repeat)
        return tuple(results)

    def plan_again(self, subjects: Sequence[Subject], evidence: Evidence, batches: Iterator[int]) -> GateSteps:
        """The same step once more on the nodes that fail for figures and nothing else, and on those far below their own earlier runs."""
        first = self._measured(evidence, repeated=False)
        below = {n for n, own in first.items() if any(is_low(r, evidence.usual) for r in own)}
        low = {n for n, own in _with_low(first, evidence).items() if needs_repeat(own)}
        # Nobody judges a partner, which may be in service.
        taking = [s for s in subjects if s.name in below | low and not s.partner]
        batch = next(batches) if taking else 0
        return GateSteps({s.name: (replace(self._step(s, evidence.level, batch), name=AGAIN),) for s in taking})

    def _measured(self, evidence: Evidence, *, repeated: bool) -> dict[str, Sequence[GateResult]]:
        """Node -> the results of its first measurement, or of its repeat."""
        found: dict[str, Sequence[GateResult]] = {}
        for record in (r for r in evidence.records if (r.step == AGAIN) is repeated and r.node in evidence.subjects):
            results = self._results(evidence.subjects[record.node], record)
            own = [replace(result, simulated=record.simulated, tool_version=record.tool_version) for result in results]
            found[record.node] = [*found.get(record.node, ()), *own]
        return found

    def _twice(
        self, lowered: Collection[Figure], first: Sequence[GateResult], again: Sequence[GateResult], records: Sequence[RawRecord]
    ) -> Iterator[GateResult]:
        """The results of one node of the figures that are too low in any of its measurements."""
        own, repeat = ([r for r in some if r.figure in lowered] for some in (first, again))
        at_first = self._texts(own, [r for r in records if r.step != AGAIN])
        repeated = self._texts(repeat, [r for r in records if r.step == AGAIN])
        return two_of_two(own, repeat, at_first=at_first, repeated=repeated, place_of=of_device_or_figure(own, repeat))

    def _texts(self, results: Sequence[GateResult], records: Sequence[RawRecord]) -> dict[_Place, str]:
        """Figure and device -> its lowest value in a measurement, for people; under no device that of all of them."""
        samples = [s for record in records for s in read_record(self, record).samples]
        lowest: dict[_Place, tuple[float, str]] = {}
        for r in (r for r in results if r.value is not None):
            _keep_lowest(lowest, (r.figure, ""), r.value or 0.0, r.unit)
            for s in (s for s in samples if s.metric == r.metric and r.op in ("", s.op) and r.size_bytes in (None, s.size_bytes)):
                for device in {s.device, s.peer_device} - {""}:
                    _keep_lowest(lowest, (r.figure, device), s.value, r.unit)
        return {place: f"{limit_text(value)} {unit}" for place, (value, unit) in lowest.items()}

    def _results(self, subject: Subject, record: RawRecord) -> Sequence[GateResult]:
        reading = read_record(self, record)
        if reading.samples:
            try:
                return [with_hint(self, r) for r in self.verdicts(subject, record, reading)]
            except Exception as e:  # noqa: BLE001 the code of a gate may raise anything; other records are judged all the same
                reading = Reading((), "complete", GateReason.GATE_RAISED, gate_raised(self, e))
        return (not_run(self, record, reading),)

    def _step(self, subject: Subject, level: Level, batch: int) -> GateStep:
        settings = subject.profile.settings_of(self)
        return GateStep(
            gate=self.name,
            name="solo",
            tool=self.tool,
            side=Side.SOLO,
            argv=self.argv(settings, level, subject),
            timeout_s=at_level(settings.timeout_s, level),
            batch=batch,
            version_argv=self.version_argv(settings),
            exclusive=True,
            shares_with=self.shares_with(subject),
            links_of=self.links_of(settings),
        )


def _with_low(measured: Mapping[str, Sequence[GateResult]], evidence: Evidence) -> dict[str, list[GateResult]]:
    """The same, where what is far below equal nodes fails."""
    every = [r for own in measured.values() for r in own]
    found: dict[str, list[GateResult]] = {name: [] for name in measured}
    for result, compared in zip(every, by_peers(every, evidence), strict=True):
        found[result.node].append(compared if is_low_figure(compared) else result)
    return found


def _keep_lowest(lowest: dict[_Place, tuple[float, str]], place: _Place, value: float, unit: str) -> None:
    lowest[place] = min(lowest.get(place, (value, unit)), (value, unit))
