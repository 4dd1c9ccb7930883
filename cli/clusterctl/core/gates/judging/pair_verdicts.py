"""A verdict on one device from the links of all pairs. Pure."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.judging.attribution import End, Graph, Link, LinkState
from clusterctl.core.gates.judging.between_texts import hint_between, reason_between, repair_between, why_between
from clusterctl.core.gates.judging.limits import limit_text
from clusterctl.core.gates.judging.missing_evidence import hint_for, most_important
from clusterctl.core.gates.judging.peers import LEAST_PEERS
from clusterctl.core.gates.judging.shared_faults import SharedFault, SharedPart
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.model.repair import NO_REPAIR, Component, NextAction, Repair
from clusterctl.model.running_text import first_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.gates.judging.pair_findings import PairFindings
    from clusterctl.core.gates.pair_gate import PairGate
    from clusterctl.core.gates.planning.devices import Hca
    from clusterctl.core.gates.subject import Subject

_PAIR = 2
# All adapters of a node alike: root complex, BIOS or ACS.
_OF_NODE = Repair(Component.NODE, NextAction.CHECK_SETTINGS)


def device_result(gate: PairGate[Any], findings: PairFindings, subject: Subject, hca: Hca, nodes: int, *, simulated: bool) -> GateResult:
    """The verdict on `hca` of `subject`; `nodes` took part in all."""
    end, graph = (subject.name, hca.name), findings.graph
    links = graph.of(end)
    measured = next(iter(graph.of(end, LinkState.OK, LinkState.LOW)), None)
    blank = GateResult(
        gate=gate.name,
        node=subject.name,
        outcome=Outcome.COULD_NOT_RUN,
        rule=gate.direction.rule,
        metric=gate.metric,
        expected=f"{gate.direction.sign} {gate.text(measured.limit)}" if measured else "",
        device=hca.name,
        peers=tuple(sorted({link.far(end)[0] for link in links})),
        source=measured.source if measured else "",
        simulated=simulated,
        limit=measured.limit if measured else None,
        unit=gate.unit,
        op=gate.operation(subject.profile.settings_of(gate)),
        tool_version=findings.versions.get(end, ""),
    )
    if fault := findings.behind.get(end):
        return _behind(gate, graph, blank, hca, fault)
    if findings.is_slow(end):
        return _slow(gate, graph, blank, hca, findings.nodes.get(end))
    low = findings.unexplained_low(end)
    if low and not findings.is_collision(end):
        return _unclear(gate, graph, blank, hca, low, nodes=nodes)
    broken = findings.unexplained_broken(end)
    good = graph.of(end, LinkState.OK)
    if good and not broken and end not in graph.dead:
        ranked = sorted((link.value for link in good), key=gate.direction.rank)
        worst, best = ranked[0], ranked[-1]
        passed = replace(blank, outcome=Outcome.PASS, found=gate.text(worst), value=worst, best=best, detail=_seen(gate, end, good, links))
        if low:
            passed = _collision(gate, findings, passed, hca, low)
        return _among_peers(gate, findings, passed, hca)
    if broken or graph.of(end, LinkState.BROKEN):
        return _not_measured(gate, graph, blank, broken or graph.of(end, LinkState.BROKEN), broken or links)
    detail = "was measured only with HCAs that are at fault themselves" if measured else "met no other HCA of its rail"
    hint = f"measure it with a known-good node: `clusterctl burnin {subject.name} {gate.options} --partners NODE`"
    return replace(blank, rule="coverage", reason=GateReason.NOT_COVERED, detail=detail, hint=hint)


def _behind(gate: PairGate[Any], graph: Graph, blank: GateResult, hca: Hca, fault: SharedFault) -> GateResult:
    """Low, and so are its neighbours behind the same part, which is not a device of the node."""
    end = (blank.node, hca.name)
    value = median([link.value for link in graph.of(end, LinkState.LOW)])
    found = _found(gate, value, hca)
    many = f"{len(fault.ends)} HCAs of rail {fault.rail}"
    unit = f" of {fault.name}" if fault.name else ""
    if fault.part is SharedPart.UPLINKS:
        detail = f"reads {found} across leaves and is fine inside its own, as are {many}{unit}: the uplinks of the leaf, no HCA"
        hint = f"check uplinks, routing and congestion control of {fault.name} for rail {fault.rail}, then `clusterctl burnin {blank.node} {gate.options} --partners NODE`"
    else:
        detail = f"reads {found}, as do {many}{unit}, while other rails are fine: the switch of the rail, no HCA"
        hint = f"check the switch of rail {fault.rail}{unit}, then `clusterctl burnin {blank.node} {gate.options} --partners NODE`"
    repair = Repair(component_name=fault.title)
    return replace(blank, rule="shared", reason=GateReason.SHARED_FAULT, value=value, found=found, detail=detail, hint=hint, repair=repair)


def _collision(gate: PairGate[Any], findings: PairFindings, passed: GateResult, hca: Hca, low: Sequence[Link]) -> GateResult:
    """Proven, and low all the same with somebody who is proven, too: what is between them, for as long as it lasted, or one of several ways there."""
    end = (passed.node, hca.name)
    partners = sorted({link.far(end)[0] for link in low})
    ranked = sorted(low, key=lambda link: gate.direction.rank(link.value))
    between = next(filter(None, (findings.between.get(frozenset((link.one, link.other))) for link in ranked)), None)
    return replace(
        passed,
        outcome=Outcome.WARN,
        reason=reason_between(between),
        detail=f"read {gate.text(ranked[0].value)} with {first_of(partners)} ({_limit(gate, ranked[0].limit)}), and both ends are proven: "
        f"{why_between(between, gate.direction)}{_figures(gate, findings.graph, end)}; {passed.detail}",
        hint=hint_between(between, passed.node),
        repair=repair_between(between),
    )


def _among_peers(gate: PairGate[Any], findings: PairFindings, passed: GateResult, hca: Hca) -> GateResult:
    """Within its limit with everybody, and in its best meeting still far worse than devices of its class."""
    end = (passed.node, hca.name)
    standing = findings.standings[end]
    text = standing.text(gate.unit, gate.decimals)
    outcome = standing.outcome_at(gate.peers_fail, gate.peers_warn)
    if outcome is Outcome.FAIL and gate.two_of_three and len(findings.graph.of(end, LinkState.OK, LinkState.LOW)) < _PAIR:
        outcome, text = Outcome.WARN, f"{text}; one measurement of three fails nobody"
    if outcome is Outcome.PASS:
        return replace(passed, detail=f"{passed.detail}; {text}") if standing.peers < LEAST_PEERS else passed
    best = passed.own_value or 0.0
    again = _again(gate, findings.graph, end)
    return replace(
        passed,
        outcome=outcome,
        rule=gate.direction.peers_rule,
        reason=gate.direction.peers_reason,
        value=best,
        found=gate.text(best),
        detail=f"its best meeting is {text}; {passed.detail}",
        hint=gate.slow_hint(hca, [best], again),
    )


def _slow(gate: PairGate[Any], graph: Graph, blank: GateResult, hca: Hca, node: SharedFault | None) -> GateResult:
    end = (blank.node, hca.name)
    values = [link.value for link in graph.of(end, LinkState.LOW)]
    again = _again(gate, graph, end)
    together = f"all {len(node.ends)} rails of {node.name} are {gate.direction.bad}, which no cable explains: " if node else ""
    return replace(
        blank,
        outcome=Outcome.FAIL,
        reason=gate.direction.reason,
        value=median(values),
        found=_found(gate, median(values), hca),
        detail=together
        + _partners_fine(graph, end)
        + _confirmed(gate, graph, end)
        + _figures(gate, graph, end)
        + _one_way(gate, end, graph.of(end, LinkState.LOW))
        + _unpinned(graph.of(end)),
        hint=f"{gate.node_hint(blank.node)}, then `{again}`" if node else gate.slow_hint(hca, values, again),
        repair=_OF_NODE if node else NO_REPAIR,
    )


def _unclear(gate: PairGate[Any], graph: Graph, blank: GateResult, hca: Hca, links: Sequence[Link], *, nodes: int) -> GateResult:
    end = (blank.node, hca.name)
    value = median([link.value for link in links])
    found = _found(gate, value, hca)
    partners = sorted({link.far(end)[0] for link in links})
    again = f"clusterctl burnin {','.join(sorted([end[0], *partners]))} {gate.options}"
    if gate.two_of_three and any(graph.fine_elsewhere(link.far(end), end) for link in links):
        unknown = "one measurement of three fails nobody"
        hint = f"measure it again: `{_again(gate, graph, end)}`"
    elif nodes == _PAIR:
        unknown = "with two nodes it cannot be determined which end is bad"
        hint = f"add a known-good third: `{again} --partners NODE`"
    else:
        unknown = "it cannot be determined which end, or what between them, is bad"
        hint = f"measure both ends against a known-good node: `{again} --partners NODE`; look at what they share: leaf, firmware, settings"
    limit = _limit(gate, blank.limit or 0.0)
    one_way = _one_way(gate, end, links)
    detail = f"reads {found} with {first_of(partners)} ({limit}){one_way}; {unknown}{_unpinned(links)}; source {blank.source}"
    return replace(blank, reason=gate.direction.reason, value=value, found=found, detail=detail, hint=hint)


def _not_measured(gate: PairGate[Any], graph: Graph, blank: GateResult, broken: Sequence[Link], missed: Sequence[Link]) -> GateResult:
    end = (blank.node, blank.device)
    reason = most_important(link.reason for link in broken)
    problems = list(dict.fromkeys(link.problem for link in broken))
    partners = sorted({link.far(end)[0] for link in missed})
    # Measured, and judged by nothing: a first limit is learned from it.
    values = [link.value for link in broken if link.value] if reason is GateReason.NO_BASELINE else []
    return replace(
        blank,
        value=min(values, key=gate.direction.rank, default=None),
        rule=graph.of(end, LinkState.BROKEN)[0].rule,
        reason=reason,
        detail=f"not measured with {first_of(partners)}: {'; '.join(problems[:2])}",
        hint=hint_for(gate, reason, blank.node),
    )


def _partners_fine(graph: Graph, end: End) -> str:
    partners = sorted({link.far(end) for link in graph.of(end, LinkState.LOW)})
    fine = [p for p in partners if graph.fine_elsewhere(p, end)]
    if len(fine) < len(partners):
        return f"{len(fine)} of {len(partners)} partners were fine with others"
    if len(partners) == 1:
        return f"its partner {partners[0][0]} is known to be good"
    return "both partners were fine with others" if len(partners) == _PAIR else f"all {len(partners)} partners were fine with others"


def _confirmed(gate: PairGate[Any], graph: Graph, end: End) -> str:
    again = {link.far(end)[0] for link in graph.of(end, LinkState.LOW) if link.suspect == end}
    return f"; again {gate.direction.bad} with {first_of(sorted(again))}, alone with each" if again else ""


def _figures(gate: PairGate[Any], graph: Graph, end: End) -> str:
    """All of them, where two of three decide."""
    links = sorted(graph.of(end, LinkState.OK, LinkState.LOW), key=lambda link: link.suspect == end) if gate.two_of_three else ()
    figures = (f"{_figure(gate, link)} with {link.far(end)[0]}{' (again)' if link.suspect == end else ''}" for link in links)
    return f"; measured {len(links)} times: {', '.join(figures)}" if links else ""


def _figure(gate: PairGate[Any], link: Link) -> str:
    return gate.text(link.value) + (f" ({gate.beside_label} {gate.text(link.beside)})" if link.beside is not None else "")


def _limit(gate: PairGate[Any], limit: float) -> str:
    return f"{gate.direction.limit} {limit_text(limit, gate.decimals)}"


def _found(gate: PairGate[Any], value: float, hca: Hca) -> str:
    """A bad figure, a bandwidth with what the link could carry."""
    return f"{limit_text(value)} of {limit_text(hca.rate_gbps)} {gate.unit}" if gate.direction.higher_is_better else gate.text(value)


def _one_way(gate: PairGate[Any], end: End, low: Sequence[Link]) -> str:
    """Where only one direction is bad: a fault of what sends, or of what receives."""
    roles = {client == end for link in low for client in link.low_clients}
    if len(roles) != 1 or any(link.runs < _PAIR or not link.low_clients for link in low):
        return ""
    return f"; {gate.direction.bad} only as {'client' if roles == {True} else 'server'}, the other direction is fine"


def _again(gate: PairGate[Any], graph: Graph, end: End) -> str:
    fine = [link.far(end)[0] for link in graph.of(end, LinkState.LOW) if graph.fine_elsewhere(link.far(end), end)]
    return f"clusterctl burnin {end[0]} {gate.options}" + (f" --partners {min(fine)}" if fine else "")


def _seen(gate: PairGate[Any], end: End, good: Sequence[Link], links: Sequence[Link]) -> str:
    partners = sorted({link.far(end)[0] for link in good})
    others = sorted({link.far(end)[0] for link in links if link.state is not LinkState.OK} - set(partners))
    rest = f"; not counted: {first_of(others)}, at fault there" if others else ""
    worst = min(good, key=lambda link: gate.direction.rank(link.value))
    beside = f"; {gate.beside_label} {gate.text(worst.beside)}" if worst.beside is not None else ""
    unpinned = _unpinned([link for link in good if end in dict(link.unpinned)])
    return f"{gate.direction.worst} of {sum(link.runs for link in good)} runs with {first_of(partners)}{beside}{rest}{unpinned}"


def _unpinned(links: Sequence[Link]) -> str:
    """What was not bound to the NUMA node of its HCA, which may be why it is slow."""
    texts = dict.fromkeys(f"{node}: {why}" for link in links for (node, _), why in link.unpinned)
    return "".join(f"; {text}" for text in list(texts)[:_PAIR])
