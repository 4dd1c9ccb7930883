"""The records of a pair gate as links between devices. Pure."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.judging.attribution import Link, LinkState
from clusterctl.core.gates.judging.limits import applicable, floors, limit_text
from clusterctl.core.gates.judging.reading import read_record
from clusterctl.core.gates.settings import at_level
from clusterctl.model.gate_result import BaselineKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.gates.judging.evidence import Evidence
    from clusterctl.core.gates.pair_gate import PairGate
    from clusterctl.core.gates.planning.devices import Hca
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import Baseline, RawRecord
    from clusterctl.model.level import Level

_PAIR = 2


def links_of(gate: PairGate[Any], evidence: Evidence) -> tuple[Link, ...]:
    """A link for every run between two known nodes; one without both records is broken."""
    by_side = {(r.node, r.step): r for r in evidence.records}
    links = []
    for record in evidence.records:
        meeting, _, side = record.step.rpartition(".")
        other = by_side.get((record.peer, f"{meeting}.{'server' if side == 'client' else 'client'}"))
        if record.node not in evidence.subjects or record.peer not in evidence.subjects:
            continue
        if side == "client":
            links.append(_link(gate, evidence, record, other))
        elif other is None:
            ends = ((record.node, record.device), (record.peer, record.peer_device))
            links.append(Link(*ends, LinkState.BROKEN, reason=f"{record.peer} has no record of its side", rule="complete"))
    return tuple(links)


def lost_links(gate: PairGate[Any], taking: Sequence[Subject], links: Sequence[Link], level: Level) -> tuple[Link, ...]:
    """The runs that the nodes of `taking` planned and have no record of; known only where all rounds were planned."""
    met = {frozenset((link.one, link.other)) for link in links}
    lost = []
    for one, other in combinations(taking, _PAIR):
        if at_level(one.profile.settings_of(gate).rounds, level) == 0:
            pairs = [((one.name, a.name), (other.name, b.name)) for a in one.hcas for b in other.hcas if a.rail == b.rail]
            lost += [Link(*p, LinkState.BROKEN, reason="no record of this run", rule="complete") for p in pairs if frozenset(p) not in met]
    return tuple(lost)


def _link(gate: PairGate[Any], evidence: Evidence, client: RawRecord, server: RawRecord | None) -> Link:
    one, other = (client.node, client.device), (client.peer, client.peer_device)
    ends = [_expectation(gate, evidence.subjects[node], device) for node, device in (one, other)]
    floor = min((b for b, _ in ends if b is not None), key=lambda b: b.limit, default=None)
    rate = min((h.rate_gbps for _, h in ends if h is not None), default=0.0)
    if floor is None:
        return Link(one, other, LinkState.BROKEN, reason="the profile has no floor for it", rule="baseline")
    sides = [(client, read_record(gate, client))] + ([(server, read_record(gate, server))] if server else [])
    reasons = [f"{r.node}: {reading.detail}" for r, reading in sides if reading.rule]
    reason = min(reasons, key=_is_about_the_peer, default="")
    if server is None:
        reason = reason or f"{client.peer} has no record of its side"
    values = [s.value for s in sides[0][1].samples if s.metric == gate.metric]
    if reason or not values:
        rule = next((reading.rule for _, reading in sides if reading.rule), "complete")
        return Link(one, other, LinkState.BROKEN, rate_gbps=rate, reason=reason or f"no {gate.metric} in the output", rule=rule)
    value = values[-1]
    ceiling = _ceiling(gate, evidence.subjects[client.node], rate)
    if ceiling and value > ceiling:
        reason = f"{limit_text(value)} {gate.unit} is above what the link can carry, {limit_text(ceiling)} {gate.unit}: a measuring error"
        return Link(one, other, LinkState.BROKEN, rate_gbps=rate, reason=reason, rule="ceiling")
    state = LinkState.OK if value >= floor.limit else LinkState.LOW
    return Link(one, other, state, value, floor.limit, rate, floor.source)


def _is_about_the_peer(reason: str) -> bool:
    return any(words in reason for words in ("never answered", "stopped answering", "went on without", "couldn't connect"))


def _expectation(gate: PairGate[Any], subject: Subject, device: str) -> tuple[Baseline | None, Hca | None]:
    chosen = [b for b in floors(applicable(subject.profile.for_gate(gate.name), _PAIR)) if b.metric == gate.metric]
    operation = gate.operation(subject.profile.settings_of(gate))
    highest = max((b for b in chosen if b.op in ("", operation)), key=lambda b: b.limit, default=None)
    return highest, next((h for h in subject.hcas if h.name == device), None)


def _ceiling(gate: PairGate[Any], subject: Subject, rate: float) -> float:
    declared = [b.value for b in subject.profile.for_gate(gate.name) if b.kind is BaselineKind.CEILING and b.metric == gate.metric]
    return min([*declared, *([rate] if rate else [])], default=0.0)
