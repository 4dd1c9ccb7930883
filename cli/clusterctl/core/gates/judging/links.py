"""The records of a pair gate as links between devices. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.judging.attribution import End, Link, LinkState
from clusterctl.core.gates.judging.limits import applicable, deciding, limit_text
from clusterctl.core.gates.judging.reading import read_record
from clusterctl.core.gates.planning.pair_steps import TURNS
from clusterctl.core.gates.planning.schedule import everybody_meets
from clusterctl.core.gates.planning.step import AGAIN
from clusterctl.core.gates.settings import at_level
from clusterctl.model.gate_reason import ABOUT_THE_PEER, GateReason
from clusterctl.model.gate_result import BaselineKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.core.gates.judging.evidence import Evidence
    from clusterctl.core.gates.judging.reading import Reading
    from clusterctl.core.gates.pair_gate import PairGate
    from clusterctl.core.gates.planning.devices import Hca
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import Baseline, RawRecord, Sample

_PAIR = 2
# A number is more than none: what was measured low counts, whatever became of the other direction.
_WORST_FIRST = (LinkState.LOW, LinkState.BROKEN, LinkState.OK)


@dataclass(frozen=True, slots=True)
class _Unusable:
    reason: GateReason
    problem: str


def links_of(gate: PairGate[Any], evidence: Evidence) -> tuple[Link, ...]:
    """A link for every meeting of two known nodes. It is as good as the worse of its two directions, and broken without all four records."""
    by_side = {(r.node, r.step): r for r in evidence.records}
    meetings: dict[tuple[str, frozenset[str]], dict[str, Link]] = {}
    for record in evidence.records:
        run, _, side = record.step.rpartition(".")
        other = by_side.get((record.peer, f"{run}.{'server' if side == 'client' else 'client'}"))
        if record.node not in evidence.subjects or record.peer not in evidence.subjects:
            continue
        place, _, turn = run.partition(".turn")
        turns = meetings.setdefault((place, frozenset((record.node, record.peer))), {})
        if side == "client":
            turns[turn] = _link(gate, evidence, record, other)
        elif other is None:
            ends = ((record.peer, record.peer_device), (record.node, record.device))
            turns[turn] = _broken(ends, "complete", GateReason.NO_EVIDENCE, f"{record.peer} has no record of its side")
    return tuple(_of_stage(gate, place, turns) for (place, _), turns in meetings.items())


def _of_stage(gate: PairGate[Any], place: str, turns: Mapping[str, Link]) -> Link:
    """A link of its stage: the server of the first turn of the second stage is the suspect."""
    link = _meeting(gate, turns)
    if not place.startswith(AGAIN):
        return link
    first = turns.get(TURNS[0].removeprefix("turn"))
    return replace(link, suspect=first.other if first else next(iter(turns.values())).one)


def _meeting(gate: PairGate[Any], turns: Mapping[str, Link]) -> Link:
    """Both directions as one link. Records that name no turn are of a plan that had one direction."""
    runs = list(turns.values())
    if "" not in turns and len(turns) < len(TURNS):
        client, server = runs[0].other, runs[0].one
        problem = f"no record of the other direction, with {client[0]} as client"
        runs.append(_broken((client, server), "complete", GateReason.NO_EVIDENCE, problem))
    worst = min(runs, key=lambda run: (_WORST_FIRST.index(run.state), gate.direction.rank(run.value)))
    low = tuple(run.one for run in runs if run.state is LinkState.LOW) if all(run.state is not LinkState.BROKEN for run in runs) else ()
    unpinned = tuple(dict.fromkeys(end for run in runs for end in run.unpinned))
    return replace(worst, runs=len(runs), low_clients=low, unpinned=unpinned)


def lost_links(gate: PairGate[Any], evidence: Evidence, links: Sequence[Link]) -> tuple[Link, ...]:
    """The meetings that nodes with records planned and have no record of; known only where the rounds are enough for everybody to meet."""
    recorded = {r.node for r in evidence.records}
    taking = [s for s in evidence.subjects.values() if s.name in recorded]
    met = {frozenset((link.one, link.other)) for link in links}
    lost = []
    known = len(evidence.subjects)
    with_all = {s.name for s in taking if everybody_meets(known, at_level(s.profile.settings_of(gate).rounds, evidence.level))}
    for one, other in combinations(taking, _PAIR) if with_all else ():
        if one.name in with_all:
            pairs = [((one.name, a.name), (other.name, b.name)) for a in one.hcas for b in other.hcas if a.rail == b.rail]
            lost += [_broken(p, "complete", GateReason.NO_EVIDENCE, "no record of this meeting") for p in pairs if frozenset(p) not in met]
    return tuple(lost)


def _link(gate: PairGate[Any], evidence: Evidence, client: RawRecord, server: RawRecord | None) -> Link:
    pair = ((client.node, client.device), (client.peer, client.peer_device))
    ends = [_expectation(gate, evidence.subjects[node], device) for node, device in pair]
    limit = min((b for b, _ in ends if b is not None), key=lambda b: gate.direction.rank(b.limit), default=None)
    rate = min((h.rate_gbps for _, h in ends if h is not None), default=0.0)
    if limit is None:
        return _without_limit(gate, evidence, (client, server), rate)
    readings = [(r.node, read_record(gate, r)) for r in (client, server) if r is not None]
    wrong = [(node, reading) for node, reading in readings if reading.rule]
    if wrong:
        node, reading = min(wrong, key=lambda w: (w[1].reason in ABOUT_THE_PEER, w[1].reason is not GateReason.PORT_TAKEN))
        return _broken(pair, wrong[0][1].rule, reading.reason, f"{node}: {reading.detail}")
    if server is None:
        return _broken(pair, "complete", GateReason.NO_EVIDENCE, f"{client.peer} has no record of its side")
    value = _figure(gate, evidence, client, readings[0][1])
    if isinstance(value, _Unusable):
        return _broken(pair, "complete", value.reason, value.problem)
    ceiling = _ceiling(gate, evidence.subjects[client.node], rate) if gate.direction.higher_is_better else 0.0
    if ceiling and value > ceiling:
        problem = f"{limit_text(value)} {gate.unit} is above what the link can carry, {limit_text(ceiling)} {gate.unit}: a measuring error"
        return _broken(pair, "ceiling", GateReason.ABOVE_CEILING, problem)
    state = LinkState.OK if gate.direction.reaches(value, limit.limit) else LinkState.LOW
    unpinned = tuple(((r.node, r.device), r.placement) for r in (client, server) if r.unpinned)
    beside = _figure(gate, evidence, client, readings[0][1], gate.shown_beside) if gate.shown_beside else None
    shown = beside if isinstance(beside, float) else None
    return Link(*pair, state, value, limit.limit, limit.source, unpinned=unpinned, beside=shown)


def _without_limit(gate: PairGate[Any], evidence: Evidence, sides: tuple[RawRecord, RawRecord | None], rate: float) -> Link:
    """Judged by nothing; it has its figure, where both sides are whole, because a first limit is learned from it."""
    client, server = sides
    pair = ((client.node, client.device), (client.peer, client.peer_device))
    found = _broken(pair, "baseline", GateReason.NO_BASELINE, f"the profile has no {gate.direction.limit} for it")
    reading = read_record(gate, client)
    if reading.rule or server is None or read_record(gate, server).rule:
        return found
    value = _figure(gate, evidence, client, reading)
    ceiling = _ceiling(gate, evidence.subjects[client.node], rate) if gate.direction.higher_is_better else 0.0
    return found if isinstance(value, _Unusable) or (ceiling and value > ceiling) else replace(found, value=value)


def _broken(pair: tuple[End, End], rule: str, reason: GateReason | None, problem: str) -> Link:
    return Link(*pair, LinkState.BROKEN, rule=rule, reason=reason, problem=problem)


def _figure(gate: PairGate[Any], evidence: Evidence, client: RawRecord, reading: Reading, metric: str = "") -> float | _Unusable:
    """The last figure of the planned run, by default the judged one; a tool prints what it ran, which may differ from what was requested."""
    settings = evidence.subjects[client.node].profile.settings_of(gate)
    measured = [s for s in reading.samples if s.metric == (metric or gate.metric)]
    planned = [s.value for s in measured if gate.is_planned(settings, client.device, s)]
    if planned:
        return planned[-1]
    if not measured:
        return _Unusable(GateReason.INCOMPLETE, f"no {metric or gate.metric} in the output")
    return _Unusable(GateReason.WRONG_RUN, f"{client.node}: {_what(measured[-1])} was measured, which is not what is planned")


def _what(sample: Sample) -> str:
    return " ".join(
        filter(None, (sample.op, f"of {sample.size_bytes} bytes" if sample.size_bytes else "", sample.device and f"on {sample.device}"))
    )


def _expectation(gate: PairGate[Any], subject: Subject, device: str) -> tuple[Baseline | None, Hca | None]:
    declared = deciding(applicable(subject.profile.for_gate(gate.name), _PAIR), gate.direction)
    operation = gate.operation(subject.profile.settings_of(gate))
    chosen = [b for b in declared if b.metric == gate.metric and b.op in ("", operation)]
    strictest = max(chosen, key=lambda b: gate.direction.rank(b.limit), default=None)
    return strictest, next((h for h in subject.hcas if h.name == device), None)


def _ceiling(gate: PairGate[Any], subject: Subject, rate: float) -> float:
    declared = [b.value for b in subject.profile.for_gate(gate.name) if b.kind is BaselineKind.CEILING and b.metric == gate.metric]
    return min([*declared, *([rate] if rate else [])], default=0.0)
