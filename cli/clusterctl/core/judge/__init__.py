"""Evidence + profile -> verdicts. Pure: the same records under the same profile give the same results, in the same order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.gates.settings import GROUP_GATES, NODE_GATES, PAIR_GATES
from clusterctl.core.judge.group import judge_group
from clusterctl.core.judge.rdma import judge_pairs
from clusterctl.core.judge.solo import judge_node
from clusterctl.core.judge.subject import Subject, subject_of
from clusterctl.model.gate_result import GateResult, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.model.gate_result import RawRecord
    from clusterctl.model.level import Level

__all__ = ["Subject", "judge", "subject_of"]

_ORDER = {Outcome.FAIL: 0, Outcome.COULD_NOT_RUN: 1, Outcome.PASS: 2}
GOOD = frozenset({Outcome.PASS, Outcome.NOT_APPLICABLE, Outcome.WAIVED})


def judge(
    subjects: Sequence[Subject],
    records: Sequence[RawRecord],
    *,
    level: Level,
    gates: Sequence[str],
    impossible: Mapping[tuple[str, str], str] | None = None,
) -> tuple[GateResult, ...]:
    """Judge `gates` on every subject that is no partner.

    Every (gate, node) that the node's profile asks for at `level` gets at least one result: without evidence it could not run.
    `impossible` says why a gate could not even be planned on a node.
    """
    ordered = tuple(sorted(set(records), key=lambda r: (r.gate, r.node, r.step, r.started_at, r.stdout)))
    known = {s.name: s for s in sorted(subjects, key=lambda s: s.name)}
    asked = [(g, s) for g in (*NODE_GATES, *PAIR_GATES, *GROUP_GATES) if g in gates for s in known.values() if _asks(s, g, level)]
    results: list[GateResult] = []
    for gate in NODE_GATES:
        for subject in (s for g, s in asked if g == gate):
            results += judge_node(gate, subject, [r for r in ordered if (r.gate, r.node) == (gate, subject.name)])
    if any(g in gates for g in PAIR_GATES):
        results += judge_pairs(known, ordered, level)
    why = impossible or {}
    results += _missing([a for a in asked if a[0] not in GROUP_GATES], results, why, {})
    bad = not_passed(results)
    if any(g in gates for g in GROUP_GATES):
        results += judge_group(known, ordered, bad)
    results += _missing(asked, results, why, bad)
    wanted = {(g, s.name) for g, s in asked}
    kept = [r for r in results if (r.gate, r.node) in wanted]
    return tuple(sorted(kept, key=_rank))


def not_passed(results: Sequence[GateResult]) -> dict[str, str]:
    """Node -> the first gate that it did not pass."""
    bad: dict[str, str] = {}
    for result in results:
        if result.outcome not in GOOD:
            bad.setdefault(result.node, result.gate)
    return bad


def _asks(subject: Subject, gate: str, level: Level) -> bool:
    return not subject.partner and gate in subject.profile.levels[level]


def _missing(
    asked: Sequence[tuple[str, Subject]], results: Sequence[GateResult], impossible: Mapping[tuple[str, str], str], bad: Mapping[str, str]
) -> list[GateResult]:
    seen = {(r.gate, r.node) for r in results}
    return [_without_evidence(g, s.name, impossible, bad) for g, s in asked if (g, s.name) not in seen]


def _without_evidence(gate: str, node: str, impossible: Mapping[tuple[str, str], str], bad: Mapping[str, str]) -> GateResult:
    detail, hint = "no evidence: nothing of this gate came back from the node", f"run `clusterctl burnin {node} --gates {gate}`"
    if (gate, node) in impossible:
        detail, _, hint = impossible[gate, node].partition("; ")
    elif gate in GROUP_GATES and node in bad:
        detail = f"left out of the group run: it did not pass {bad[node]}"
        hint = f"repair what {bad[node]} found, then `clusterctl burnin {node} --partners NODE`"
    return GateResult(gate, node, Outcome.COULD_NOT_RUN, "complete", detail=detail, hint=hint)


def _rank(result: GateResult) -> tuple[object, ...]:
    order = (*NODE_GATES, *PAIR_GATES, *GROUP_GATES).index(result.gate)
    return (result.node, order, _ORDER.get(result.outcome, 3), result.device, result.rule, result.metric, result.detail)
