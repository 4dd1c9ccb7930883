"""rdma_pair: the links of all pairs, and a verdict on every HCA. Pure."""

from __future__ import annotations

from itertools import combinations
from statistics import median
from typing import TYPE_CHECKING

from clusterctl.core.gates.settings import at_level
from clusterctl.core.judge.attribution import End, Graph, Link, LinkState
from clusterctl.core.judge.limits import applicable, floors, limit_text
from clusterctl.core.judge.parse_record import hint_for, parse_record
from clusterctl.model.gate_result import GateResult, Outcome, RawRecord

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.core.gates.devices import Hca
    from clusterctl.core.judge.subject import Subject
    from clusterctl.model.gate_result import Baseline
    from clusterctl.model.level import Level

GATE = "rdma_pair"
METRIC = "bandwidth_average"
_PAIR = 2


def judge_pairs(subjects: Mapping[str, Subject], records: Sequence[RawRecord], level: Level) -> tuple[GateResult, ...]:
    """A result for every HCA of every judged node that has records.

    Where the profile asks for all rounds, two HCAs of a rail that have no record of each other are a run that got lost.
    """
    own = [r for r in records if r.gate == GATE]
    trusted = [s.name for s in subjects.values() if s.partner]
    taking = {r.node for r in own}
    links = _links(subjects, own)
    graph = Graph((*links, *_lost([s for s in subjects.values() if s.name in taking], links, level)), trusted)
    simulated = any(r.simulated for r in own)
    judged = [s for s in subjects.values() if not s.partner and s.name in taking]
    return tuple(_verdict(graph, s, h, len(taking), simulated=simulated) for s in judged for h in s.hcas)


def _links(subjects: Mapping[str, Subject], records: Sequence[RawRecord]) -> tuple[Link, ...]:
    by_side = {(r.node, r.step): r for r in records}
    links = []
    for record in records:
        meeting, _, side = record.step.rpartition(".")
        other = by_side.get((record.peer, f"{meeting}.{'server' if side == 'client' else 'client'}"))
        if record.node not in subjects or record.peer not in subjects:
            continue
        if side == "client":
            links.append(_link(subjects, record, other))
        elif other is None:
            ends = ((record.node, record.device), (record.peer, record.peer_device))
            links.append(Link(*ends, LinkState.BROKEN, reason=f"{record.peer} has no record of its side", rule="complete"))
    return tuple(links)


def _lost(taking: Sequence[Subject], links: Sequence[Link], level: Level) -> tuple[Link, ...]:
    met = {frozenset((link.one, link.other)) for link in links}
    lost = []
    for one, other in combinations(taking, _PAIR):
        if at_level(one.profile.settings.rdma_pair.rounds, level) == 0:
            pairs = [((one.name, a.name), (other.name, b.name)) for a in one.hcas for b in other.hcas if a.rail == b.rail]
            lost += [Link(*p, LinkState.BROKEN, reason="no record of this run", rule="complete") for p in pairs if frozenset(p) not in met]
    return tuple(lost)


def _link(subjects: Mapping[str, Subject], client: RawRecord, server: RawRecord | None) -> Link:
    one, other = (client.node, client.device), (client.peer, client.peer_device)
    ends = [_expectation(subjects[node], device) for node, device in (one, other)]
    floor = min((b for b, _ in ends if b is not None), key=lambda b: b.limit, default=None)
    rate = min((h.rate_gbps for _, h in ends if h is not None), default=0.0)
    if floor is None:
        return Link(one, other, LinkState.BROKEN, reason="the profile has no floor for it", rule="baseline")
    sides = [(client, parse_record(client))] + ([(server, parse_record(server))] if server else [])
    reasons = [f"{r.node}: {reading.detail}" for r, reading in sides if reading.rule]
    reason = min(reasons, key=_is_about_the_peer, default="")
    if server is None:
        reason = reason or f"{client.peer} has no record of its side"
    values = [s.value for s in sides[0][1].samples if s.metric == METRIC]
    if reason or not values:
        rule = next((reading.rule for _, reading in sides if reading.rule), "complete")
        return Link(one, other, LinkState.BROKEN, rate_gbps=rate, reason=reason or "no bandwidth in the output", rule=rule)
    value = values[-1]
    ceiling = _ceiling(subjects[client.node], rate)
    if ceiling and value > ceiling:
        reason = f"{limit_text(value)} Gb/s is above what the link can carry, {limit_text(ceiling)} Gb/s: a measuring error"
        return Link(one, other, LinkState.BROKEN, rate_gbps=rate, reason=reason, rule="ceiling")
    state = LinkState.OK if value >= floor.limit else LinkState.LOW
    return Link(one, other, state, value, floor.limit, rate, floor.source)


def _is_about_the_peer(reason: str) -> bool:
    return any(words in reason for words in ("never answered", "stopped answering", "went on without", "couldn't connect"))


def _expectation(subject: Subject, device: str) -> tuple[Baseline | None, Hca | None]:
    chosen = [b for b in floors(applicable(subject.profile.for_gate(GATE), _PAIR)) if b.metric == METRIC]
    test = subject.profile.settings.rdma_pair.test
    fitting = [b for b in chosen if b.op in ("", test)]
    highest = max(fitting, key=lambda b: b.limit, default=None)
    return highest, next((h for h in subject.hcas if h.name == device), None)


def _ceiling(subject: Subject, rate: float) -> float:
    declared = [b.value for b in subject.profile.for_gate(GATE) if b.kind == "ceiling" and b.metric == METRIC]
    return min([*declared, *([rate] if rate else [])], default=0.0)


def _verdict(graph: Graph, subject: Subject, hca: Hca, nodes: int, *, simulated: bool) -> GateResult:
    end = (subject.name, hca.name)
    links = graph.of(end)
    measured = graph.of(end, LinkState.OK, LinkState.LOW)
    peers = tuple(sorted({link.far(end)[0] for link in links}))
    floor = next((link.floor for link in measured), 0.0)
    source = next((link.source for link in measured), "")
    expected = f">= {limit_text(floor)} Gb/s" if floor else ""

    def result(outcome: Outcome, rule: str, *, found: str = "", detail: str = "", hint: str = "") -> GateResult:
        return GateResult(
            GATE, subject.name, outcome, rule, METRIC, expected, found, hca.name, peers, source, detail, hint, simulated=simulated
        )

    if end in graph.slow:
        values = [link.value for link in graph.of(end, LinkState.LOW)]
        found = f"{limit_text(median(values))} of {limit_text(hca.rate_gbps)} Gb/s"
        return result(Outcome.FAIL, "floor", found=found, detail=_partners_fine(graph, end), hint=_cable_hint(graph, end, hca, values))
    if unclear := graph.unexplained(end, LinkState.LOW):
        found = f"{limit_text(median([link.value for link in unclear]))} of {limit_text(hca.rate_gbps)} Gb/s"
        detail, hint = _unclear(end, unclear, floor, nodes)
        return result(Outcome.COULD_NOT_RUN, "floor", found=found, detail=f"reads {found} {detail}; source {source}", hint=hint)
    broken = graph.unexplained(end, LinkState.BROKEN)
    good = graph.of(end, LinkState.OK)
    if good and not broken and end not in graph.dead:
        lowest = min(link.value for link in good)
        return result(Outcome.PASS, "floor", found=f"{limit_text(lowest)} Gb/s", detail=_seen(end, good, links))
    reasons = list(dict.fromkeys(link.reason for link in broken or graph.of(end, LinkState.BROKEN)))
    if not reasons:
        detail = "was measured only with HCAs that are at fault themselves" if measured else "met no other HCA of its rail"
        hint = f"measure it with a known-good node: `clusterctl burnin {subject.name} --gates {GATE} --partners NODE`"
        return result(Outcome.COULD_NOT_RUN, "coverage", detail=detail, hint=hint)
    partners = sorted({link.far(end)[0] for link in broken or links})
    rule = next((link.rule for link in graph.of(end, LinkState.BROKEN)), "complete")
    return result(
        Outcome.COULD_NOT_RUN,
        rule,
        detail=f"not measured with {_some(partners)}: {'; '.join(reasons[:2])}",
        hint=hint_for("; ".join(reasons), subject.name),
    )


def _partners_fine(graph: Graph, end: End) -> str:
    partners = sorted({link.far(end) for link in graph.of(end, LinkState.LOW)})
    fine = [p for p in partners if graph.fine_elsewhere(p, end)]
    if len(fine) < len(partners):
        return f"{len(fine)} of {len(partners)} partners were fine with others"
    if len(partners) == 1:
        return f"its partner {partners[0][0]} is known to be good"
    return "both partners were fine with others" if len(partners) == _PAIR else f"all {len(partners)} partners were fine with others"


def _cable_hint(graph: Graph, end: End, hca: Hca, values: Sequence[float]) -> str:
    node, device = end
    half = any(0.4 < value / hca.rate_gbps < 0.6 for value in values)  # noqa: PLR2004 around one half
    what = "it runs at half its rate: see" if half else "see"
    fine = [link.far(end)[0] for link in graph.of(end, LinkState.LOW) if graph.fine_elsewhere(link.far(end), end)]
    again = f"clusterctl burnin {node} --gates {GATE}" + (f" --partners {min(fine)}" if fine else "")
    return f"{what} rate and width in `ibstat {device}`, reseat or replace the cable on port {hca.rail + 1}, then `{again}`"


def _unclear(end: End, links: Sequence[Link], floor: float, nodes: int) -> tuple[str, str]:
    partners = sorted({link.far(end)[0] for link in links})
    again = f"clusterctl burnin {','.join(sorted([end[0], *partners]))} --gates {GATE}"
    below = f"with {_some(partners)} (floor {limit_text(floor)})"
    if nodes == _PAIR:
        return f"{below}; with two nodes it cannot be told which end is bad", f"add a known-good third: `{again} --partners NODE`"
    hint = f"measure both ends against a known-good node: `{again} --partners NODE`; look at what they share: leaf, firmware, settings"
    return f"{below}; it cannot be told which end, or what between them, is bad", hint


def _seen(end: End, good: Sequence[Link], links: Sequence[Link]) -> str:
    partners = sorted({link.far(end)[0] for link in good})
    others = sorted({link.far(end)[0] for link in links if link.state is not LinkState.OK} - set(partners))
    rest = f"; not counted: {_some(others)}, at fault there" if others else ""
    return f"lowest of {len(good)} runs with {_some(partners)}{rest}"


def _some(names: Sequence[str]) -> str:
    shown = 4
    return ", ".join(names) if len(names) <= shown else f"{', '.join(names[:shown])} and {len(names) - shown} more"
