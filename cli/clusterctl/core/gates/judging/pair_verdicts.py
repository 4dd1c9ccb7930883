"""A verdict on one device from the links of all pairs. Pure."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.judging.attribution import End, Graph, Link, LinkState
from clusterctl.core.gates.judging.limits import limit_text
from clusterctl.core.gates.judging.reading import hint_for
from clusterctl.model.gate_result import GateResult, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.gates.pair_gate import PairGate
    from clusterctl.core.gates.planning.devices import Hca
    from clusterctl.core.gates.subject import Subject

_PAIR = 2


def device_result(gate: PairGate[Any], graph: Graph, subject: Subject, hca: Hca, nodes: int, *, simulated: bool) -> GateResult:
    """The verdict on `hca` of `subject`; `nodes` took part in all."""
    end = (subject.name, hca.name)
    links = graph.of(end)
    measured = graph.of(end, LinkState.OK, LinkState.LOW)
    peers = tuple(sorted({link.far(end)[0] for link in links}))
    floor = next((link.floor for link in measured), 0.0)
    source = next((link.source for link in measured), "")
    expected = f">= {limit_text(floor)} {gate.unit}" if floor else ""

    def result(outcome: Outcome, rule: str, *, found: str = "", detail: str = "", hint: str = "") -> GateResult:
        return GateResult(
            gate.name, subject.name, outcome, rule, gate.metric, expected, found, hca.name, peers, source, detail, hint, simulated=simulated
        )

    if end in graph.slow:
        values = [link.value for link in graph.of(end, LinkState.LOW)]
        found = f"{limit_text(median(values))} of {limit_text(hca.rate_gbps)} {gate.unit}"
        return result(
            Outcome.FAIL,
            "floor",
            found=found,
            detail=_partners_fine(graph, end),
            hint=gate.slow_hint(hca, values, _again(gate, graph, end)),
        )
    if unclear := graph.unexplained(end, LinkState.LOW):
        found = f"{limit_text(median([link.value for link in unclear]))} of {limit_text(hca.rate_gbps)} {gate.unit}"
        detail, hint = _unclear(gate, end, unclear, floor, nodes)
        return result(Outcome.COULD_NOT_RUN, "floor", found=found, detail=f"reads {found} {detail}; source {source}", hint=hint)
    broken = graph.unexplained(end, LinkState.BROKEN)
    good = graph.of(end, LinkState.OK)
    if good and not broken and end not in graph.dead:
        lowest = min(link.value for link in good)
        return result(Outcome.PASS, "floor", found=f"{limit_text(lowest)} {gate.unit}", detail=_seen(end, good, links))
    reasons = list(dict.fromkeys(link.reason for link in broken or graph.of(end, LinkState.BROKEN)))
    if not reasons:
        detail = "was measured only with HCAs that are at fault themselves" if measured else "met no other HCA of its rail"
        hint = f"measure it with a known-good node: `clusterctl burnin {subject.name} --gates {gate.name} --partners NODE`"
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


def _again(gate: PairGate[Any], graph: Graph, end: End) -> str:
    fine = [link.far(end)[0] for link in graph.of(end, LinkState.LOW) if graph.fine_elsewhere(link.far(end), end)]
    return f"clusterctl burnin {end[0]} --gates {gate.name}" + (f" --partners {min(fine)}" if fine else "")


def _unclear(gate: PairGate[Any], end: End, links: Sequence[Link], floor: float, nodes: int) -> tuple[str, str]:
    partners = sorted({link.far(end)[0] for link in links})
    again = f"clusterctl burnin {','.join(sorted([end[0], *partners]))} --gates {gate.name}"
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
