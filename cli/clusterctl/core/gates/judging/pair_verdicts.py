"""A verdict on one device from the links of all pairs. Pure."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.judging.attribution import End, Graph, Link, LinkState
from clusterctl.core.gates.judging.limits import limit_text
from clusterctl.core.gates.judging.missing_evidence import hint_for, most_important
from clusterctl.core.gates.judging.peers import LEAST_PEERS
from clusterctl.core.gates.judging.shared_faults import SharedFault, SharedPart
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.gates.judging.pair_findings import PairFindings
    from clusterctl.core.gates.pair_gate import PairGate
    from clusterctl.core.gates.planning.devices import Hca
    from clusterctl.core.gates.subject import Subject

_PAIR = 2


def device_result(gate: PairGate[Any], findings: PairFindings, subject: Subject, hca: Hca, nodes: int, *, simulated: bool) -> GateResult:
    """The verdict on `hca` of `subject`; `nodes` took part in all."""
    end, graph = (subject.name, hca.name), findings.graph
    links = graph.of(end)
    measured = next(iter(graph.of(end, LinkState.OK, LinkState.LOW)), None)
    blank = GateResult(
        gate=gate.name,
        node=subject.name,
        outcome=Outcome.COULD_NOT_RUN,
        rule="floor",
        metric=gate.metric,
        expected=f">= {limit_text(measured.floor)} {gate.unit}" if measured else "",
        device=hca.name,
        peers=tuple(sorted({link.far(end)[0] for link in links})),
        source=measured.source if measured else "",
        simulated=simulated,
        limit=measured.floor if measured else None,
        unit=gate.unit,
        op=gate.operation(subject.profile.settings_of(gate)),
        tool_version=findings.versions.get(end, ""),
    )
    if fault := findings.behind.get(end):
        return _behind(gate, graph, blank, hca, fault)
    if end in graph.slow:
        return _slow(gate, graph, blank, hca, findings.nodes.get(end))
    low = findings.unexplained_low(end)
    if low and not findings.is_collision(end):
        return _unclear(gate, blank, hca, low, nodes)
    broken = findings.unexplained_broken(end)
    good = graph.of(end, LinkState.OK)
    if good and not broken and end not in graph.dead:
        lowest = min(link.value for link in good)
        found = f"{limit_text(lowest)} {gate.unit}"
        best = max(link.value for link in good)
        passed = replace(blank, outcome=Outcome.PASS, found=found, value=lowest, best=best, detail=_seen(end, good, links))
        if low:
            passed = _collision(gate, passed, hca, low, findings.paths.get(end))
        return _among_peers(gate, findings, passed, hca)
    if broken or graph.of(end, LinkState.BROKEN):
        return _not_measured(gate, graph, blank, broken or graph.of(end, LinkState.BROKEN), broken or links)
    detail = "was measured only with HCAs that are at fault themselves" if measured else "met no other HCA of its rail"
    hint = f"measure it with a known-good node: `clusterctl burnin {subject.name} --gates {gate.name} --partners NODE`"
    return replace(blank, rule="coverage", reason=GateReason.NOT_COVERED, detail=detail, hint=hint)


def _behind(gate: PairGate[Any], graph: Graph, blank: GateResult, hca: Hca, fault: SharedFault) -> GateResult:
    """Low, and so are its neighbours behind the same part, which is no device of the node."""
    end = (blank.node, hca.name)
    value = median([link.value for link in graph.of(end, LinkState.LOW)])
    found = f"{limit_text(value)} of {limit_text(hca.rate_gbps)} {gate.unit}"
    many = f"{len(fault.ends)} HCAs of rail {fault.rail}"
    unit = f" of {fault.name}" if fault.name else ""
    if fault.part is SharedPart.UPLINKS:
        detail = f"reads {found} across leaves and is fine inside its own, as are {many}{unit}: the uplinks of the leaf, no HCA"
        hint = f"check uplinks, routing and congestion control of {fault.name} for rail {fault.rail}, then `clusterctl burnin {blank.node} --gates {gate.name} --partners NODE`"
    else:
        detail = f"reads {found}, as do {many}{unit}, while other rails are fine: the switch of the rail, no HCA"
        hint = f"check the switch of rail {fault.rail}{unit}, then `clusterctl burnin {blank.node} --gates {gate.name} --partners NODE`"
    return replace(blank, rule="shared", reason=GateReason.SHARED_FAULT, value=value, found=found, detail=detail, hint=hint)


def _collision(gate: PairGate[Any], passed: GateResult, hca: Hca, low: Sequence[Link], path: SharedFault | None) -> GateResult:
    """Proven, and low all the same with somebody who is proven, too: what is between them, for as long as it lasted."""
    partners = sorted({link.far((passed.node, hca.name))[0] for link in low})
    lowest = min(link.value for link in low)
    why = (
        f"the path between {path.name}: more than half of the pairs that used it were low"
        if path
        else "a collision on the path between them"
    )
    return replace(
        passed,
        outcome=Outcome.WARN,
        reason=GateReason.COLLISION,
        detail=f"read {limit_text(lowest)} {gate.unit} with {_some(partners)} (floor {limit_text(low[0].floor)}), and both ends are proven: {why}; {passed.detail}",
        hint=f"nothing on {passed.node}, unless it repeats: see `clusterctl history {passed.node}`",
    )


def _among_peers(gate: PairGate[Any], findings: PairFindings, passed: GateResult, hca: Hca) -> GateResult:
    """At its floor with everybody, and in its best meeting still far below devices of its class."""
    end = (passed.node, hca.name)
    standing = findings.standings[end]
    text = standing.text(gate.unit)
    if standing.outcome is Outcome.PASS:
        return replace(passed, detail=f"{passed.detail}; {text}") if standing.peers < LEAST_PEERS else passed
    best = standing.median * (1 - standing.below)
    again = _again(gate, findings.graph, end)
    return replace(
        passed,
        outcome=standing.outcome,
        rule="peers",
        reason=GateReason.BELOW_PEERS,
        value=best,
        found=f"{limit_text(best)} {gate.unit}",
        detail=f"its best meeting is {text}; {passed.detail}",
        hint=gate.slow_hint(hca, [best], again),
    )


def _slow(gate: PairGate[Any], graph: Graph, blank: GateResult, hca: Hca, node: SharedFault | None) -> GateResult:
    end = (blank.node, hca.name)
    values = [link.value for link in graph.of(end, LinkState.LOW)]
    again = _again(gate, graph, end)
    together = f"all {len(node.ends)} rails of {node.name} are low, which no cable explains: " if node else ""
    return replace(
        blank,
        outcome=Outcome.FAIL,
        reason=GateReason.BELOW_FLOOR,
        value=median(values),
        found=f"{limit_text(median(values))} of {limit_text(hca.rate_gbps)} {gate.unit}",
        detail=together
        + _partners_fine(graph, end)
        + _confirmed(graph, end)
        + _direction(end, graph.of(end, LinkState.LOW))
        + _unpinned(graph.of(end)),
        hint=f"check root complex, BIOS and ACS of {blank.node} (`lspci -vvv`), then `{again}`"
        if node
        else gate.slow_hint(hca, values, again),
    )


def _unclear(gate: PairGate[Any], blank: GateResult, hca: Hca, links: Sequence[Link], nodes: int) -> GateResult:
    end = (blank.node, hca.name)
    value = median([link.value for link in links])
    found = f"{limit_text(value)} of {limit_text(hca.rate_gbps)} {gate.unit}"
    partners = sorted({link.far(end)[0] for link in links})
    again = f"clusterctl burnin {','.join(sorted([end[0], *partners]))} --gates {gate.name}"
    if nodes == _PAIR:
        unknown = "with two nodes it cannot be determined which end is bad"
        hint = f"add a known-good third: `{again} --partners NODE`"
    else:
        unknown = "it cannot be determined which end, or what between them, is bad"
        hint = f"measure both ends against a known-good node: `{again} --partners NODE`; look at what they share: leaf, firmware, settings"
    floor = limit_text(blank.limit or 0.0)
    detail = (
        f"reads {found} with {_some(partners)} (floor {floor}){_direction(end, links)}; {unknown}{_unpinned(links)}; source {blank.source}"
    )
    return replace(blank, reason=GateReason.BELOW_FLOOR, value=value, found=found, detail=detail, hint=hint)


def _not_measured(gate: PairGate[Any], graph: Graph, blank: GateResult, broken: Sequence[Link], missed: Sequence[Link]) -> GateResult:
    end = (blank.node, blank.device)
    reason = most_important(link.reason for link in broken)
    problems = list(dict.fromkeys(link.problem for link in broken))
    partners = sorted({link.far(end)[0] for link in missed})
    return replace(
        blank,
        rule=graph.of(end, LinkState.BROKEN)[0].rule,
        reason=reason,
        detail=f"not measured with {_some(partners)}: {'; '.join(problems[:2])}",
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


def _confirmed(graph: Graph, end: End) -> str:
    again = {link.far(end)[0] for link in graph.of(end, LinkState.LOW) if link.suspect == end}
    return f"; again low with {_some(sorted(again))}, alone with each" if again else ""


def _direction(end: End, low: Sequence[Link]) -> str:
    """Where only one direction is low: a fault of what sends, or of what receives."""
    roles = {client == end for link in low for client in link.low_clients}
    if len(roles) != 1 or any(link.runs < _PAIR or not link.low_clients for link in low):
        return ""
    return f"; low only as {'client' if roles == {True} else 'server'}, the other direction is fine"


def _again(gate: PairGate[Any], graph: Graph, end: End) -> str:
    fine = [link.far(end)[0] for link in graph.of(end, LinkState.LOW) if graph.fine_elsewhere(link.far(end), end)]
    return f"clusterctl burnin {end[0]} --gates {gate.name}" + (f" --partners {min(fine)}" if fine else "")


def _seen(end: End, good: Sequence[Link], links: Sequence[Link]) -> str:
    partners = sorted({link.far(end)[0] for link in good})
    others = sorted({link.far(end)[0] for link in links if link.state is not LinkState.OK} - set(partners))
    rest = f"; not counted: {_some(others)}, at fault there" if others else ""
    return f"lowest of {sum(link.runs for link in good)} runs with {_some(partners)}{rest}{_unpinned([link for link in good if end in dict(link.unpinned)])}"


def _unpinned(links: Sequence[Link]) -> str:
    """What was not bound to the NUMA node of its HCA, which may be why it is slow."""
    texts = dict.fromkeys(f"{node}: {why}" for link in links for (node, _), why in link.unpinned)
    return "".join(f"; {text}" for text in list(texts)[:_PAIR])


def _some(names: Sequence[str]) -> str:
    shown = 4
    return ", ".join(names) if len(names) <= shown else f"{', '.join(names[:shown])} and {len(names) - shown} more"
