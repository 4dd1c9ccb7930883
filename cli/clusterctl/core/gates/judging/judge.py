"""Evidence + profile -> results. Pure: the same records under the same profile give the same results, in the same order."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.gate import Gate, Scope
from clusterctl.core.gates.judging.evidence import Evidence
from clusterctl.core.gates.judging.low_alike import low_alike
from clusterctl.core.gates.judging.missing_evidence import hint_for
from clusterctl.core.gates.judging.own_history import against_history
from clusterctl.core.gates.judging.peers import by_peers
from clusterctl.core.gates.judging.reading import gate_raised, read_record
from clusterctl.core.gates.judging.reboots import by_reboots
from clusterctl.core.gates.planning.step import AGAIN
from clusterctl.core.gates.registry import all_gates, gate_named
from clusterctl.core.observe import observe_results
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl_validators.finding import GOOD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from clusterctl.core.gates.planning.step import Obstacle
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import RawRecord
    from clusterctl.model.level import Level
    from clusterctl.model.own_history import HistoryKey

_ORDER = {Outcome.FAIL: 0, Outcome.COULD_NOT_RUN: 1, Outcome.WARN: 2, Outcome.PASS: 3}


def judge(
    subjects: Sequence[Subject],
    records: Sequence[RawRecord],
    *,
    level: Level,
    gates: Sequence[str],
    impossible: Mapping[tuple[str, str], Obstacle] | None = None,
    usual: Mapping[HistoryKey, float] | None = None,
) -> tuple[GateResult, ...]:
    """Judge `gates` on every subject that is not a partner.

    Every (gate, node) that the node's profile declares at `level` gets at least one result: without evidence it could not run.
    `impossible` names the gates that could not even be planned on a node, `usual` what devices read in earlier runs.

    Raises:
        ConfigError: a gate is unknown.
    """
    ordered = tuple(sorted(set(records), key=lambda r: (r.gate, r.node, r.step, r.started_at, r.stdout)))
    known = {s.name: s for s in sorted(subjects, key=lambda s: s.name)}
    judged = [s for s in known.values() if not s.partner]
    chosen = {gate_named(name) for name in gates}
    groups = frozenset(g.name for g in chosen if g.scope is Scope.GROUP)
    results: list[GateResult] = []
    for scope in Scope:
        failed_before = not_passed(results)
        for gate in (g for g in all_gates() if g in chosen and g.scope is scope):
            declared = [s.name for s in judged if gate.name in s.profile.levels[level]]
            evidence = Evidence(known, [r for r in ordered if r.gate == gate.name], level, failed_before, groups, usual or {})
            own = [r for r in _results_of(gate, evidence) if r.node in declared]
            missing = sorted(set(declared) - {r.node for r in own})
            every = [*own, *(_without_evidence(gate, n, impossible or {}, failed_before) for n in missing)]
            results += _observed(every, known)
    return tuple(sorted(_observed(by_reboots(low_alike(known, results), ordered), known), key=_rank))


def _observed(results: Iterable[GateResult], known: Mapping[str, Subject]) -> Iterator[GateResult]:
    """Marked before the next scope is judged: a node takes part in a group run whatever an observed gate found."""
    for result in results:
        yield from observe_results([result], known[result.node].observations)


def _results_of(gate: Gate[Any], evidence: Evidence) -> Sequence[GateResult]:
    """What a gate judges; where its code raises or gives something else, which a site's may do, none of its nodes passes it."""
    try:
        evidence = gate.with_versions(evidence)
        results = tuple(_checked(gate, result) for result in gate.judge(evidence))
    except Exception as e:  # noqa: BLE001 the code of a gate may raise anything; other gates are judged all the same
        reason, detail = GateReason.GATE_RAISED, gate_raised(gate, e)
        nodes = sorted({r.node for r in evidence.records})
        return [
            GateResult(gate.name, n, Outcome.COULD_NOT_RUN, "complete", detail=detail, hint=hint_for(gate, reason, n), reason=reason)
            for n in nodes
        ]
    return tuple(_by_others(gate, results, evidence)) if gate.scope is Scope.NODE else results


def _by_others(gate: Gate[Any], results: Sequence[GateResult], evidence: Evidence) -> Iterator[GateResult]:
    """Against equal nodes of the run, then against the node's own past."""
    repeated: dict[str, set[str]] = {}
    for record in (r for r in evidence.records if r.step.partition(".")[0] == AGAIN):
        devices = {s.device or record.device for s in read_record(gate, record).samples}
        repeated.setdefault(record.node, set()).update(devices)
    for result in by_peers(results, evidence):
        for one in against_history(result, evidence.usual, repeated.get(result.node)):
            action = gate.hint(one) if one.reason is GateReason.BELOW_HISTORY else ""
            yield replace(one, hint=f"{one.hint}; if nothing did: {action}") if action else one


def _checked(gate: Gate[Any], result: object) -> GateResult:
    if not isinstance(result, GateResult) or result.gate != gate.name:
        raise TypeError(f"{result!r:.120} is not a result of this gate")
    if not all(isfinite(number) for number in (result.value, result.limit, *(one.value for one in result.by_device)) if number is not None):
        raise ValueError(f"a result has the value {result.value} and the limit {result.limit}")
    return result


def not_passed(results: Sequence[GateResult]) -> dict[str, GateResult]:
    """Node -> its first result that is not good."""
    bad: dict[str, GateResult] = {}
    for result in results:
        if result.outcome not in GOOD:
            bad.setdefault(result.node, result)
    return bad


def _without_evidence(
    gate: Gate[Any], node: str, impossible: Mapping[tuple[str, str], Obstacle], failed_before: Mapping[str, GateResult]
) -> GateResult:
    reason, detail = GateReason.NO_EVIDENCE, "no evidence: nothing of this gate came back from the node"
    hint = f"run `clusterctl burnin {node} {gate.options}`"
    if obstacle := impossible.get((gate.name, node)):
        reason, detail, hint = obstacle.reason, obstacle.why, obstacle.hint
    elif gate.scope is Scope.GROUP and node in failed_before:
        reason, detail, hint = _left_out(gate, failed_before[node])
    return GateResult(gate.name, node, Outcome.COULD_NOT_RUN, "complete", detail=detail, hint=hint, reason=reason)


def _left_out(gate: Gate[Any], first: GateResult) -> tuple[GateReason, str, str]:
    """Why a group gate did not measure a node, by the first result that is not good: what was not measured found nothing that can be repaired."""
    if first.reason is GateReason.NODE_UNREACHABLE:
        return first.reason, first.detail, hint_for(gate, first.reason, first.node)
    again = f"then `clusterctl burnin {first.node} --partners NODE`"
    if first.outcome is Outcome.COULD_NOT_RUN:
        return GateReason.LEFT_OUT, f"left out of the group run: {first.gate} could not run", f"see why {first.gate} could not run, {again}"
    return GateReason.LEFT_OUT, f"left out of the group run: it did not pass {first.gate}", f"repair what {first.gate} found, {again}"


def _rank(result: GateResult) -> tuple[object, ...]:
    order = [gate.name for gate in all_gates()].index(result.gate)
    return (result.node, order, _ORDER.get(result.outcome, len(_ORDER)), result.device, result.rule, result.metric, result.detail)
