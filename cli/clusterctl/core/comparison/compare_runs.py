"""Compares what two runs found, node by node. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.comparison.result_pairs import change_of_outcomes, noises_percent, paired, result_pairs
from clusterctl.model.run_comparison import (
    ChangedPart,
    ChangedVersion,
    CheckPair,
    ComparedNode,
    ComparedRun,
    ComparisonDocument,
    NodeEvidence,
    RunChange,
)
from clusterctl_validators.finding import GOOD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clusterctl.model.part import Part
    from clusterctl.model.run_comparison import RunEvidence
    from clusterctl_validators.finding import Finding


def compare_runs(before: RunEvidence, after: RunEvidence) -> ComparisonDocument:
    """Both runs, their versions, and every node of either by name."""
    names = sorted({*before.nodes, *after.nodes})
    none = NodeEvidence()
    own = {n: (before.nodes.get(n, none), after.nodes.get(n, none)) for n in names}
    pairs = {n: paired(one.results, other.results) for n, (one, other) in own.items()}
    noises = noises_percent(p for of_node in pairs.values() for p in of_node)
    nodes = tuple(
        ComparedNode(
            name,
            name in before.nodes,
            name in after.nodes,
            tuple(result_pairs(pairs[name], noises)),
            tuple(_check_pairs(one.findings, other.findings)),
            tuple(_changed_parts(one.parts, other.parts)),
            tuple(_changed_versions(one.tools or {}, other.tools or {})),
        )
        for name, (one, other) in own.items()
    )
    return ComparisonDocument(
        _compared_run(before), _compared_run(after), tuple(_changed_versions(before.run.versions, after.run.versions)), nodes
    )


def _compared_run(evidence: RunEvidence) -> ComparedRun:
    run = evidence.run
    return ComparedRun(run.id, run.verb, run.target, run.started_at, evidence.status)


def _check_pairs(before: Sequence[Finding], after: Sequence[Finding]) -> Iterator[CheckPair]:
    """None where one of the runs checked nothing: that is not a change of the node."""
    if not before or not after:
        return
    ours, theirs = {f.check: f for f in before}, {f.check: f for f in after}
    for check in sorted({*ours, *theirs}):
        one, other = ours.get(check), theirs.get(check)
        if change := _check_change(one, other):
            outcome, outcome_after = (f.outcome.value if f else "" for f in (one, other))
            found, found_after = (f.found if f else "" for f in (one, other))
            yield CheckPair(check, outcome, outcome_after, found, found_after, change)


def _check_change(before: Finding | None, after: Finding | None) -> RunChange | None:
    if before and after:
        change = change_of_outcomes(good_before=before.outcome in GOOD, good_after=after.outcome in GOOD)
        return change or (RunChange.FOUND if before.found != after.found else None)
    if after:
        return RunChange.ONLY_AFTER if after.outcome in GOOD else RunChange.NEWLY_FAILS
    return RunChange.ONLY_BEFORE


def _changed_parts(before: Sequence[Part], after: Sequence[Part]) -> Iterator[ChangedPart]:
    """None where parts of the node were recorded for one of the runs only: it is unknown whether they changed."""
    if not before or not after:
        return
    ours, theirs = ({(p.kind, p.slot): p for p in parts} for parts in (before, after))
    for place in sorted({*ours, *theirs}):
        one, other = ours.get(place), theirs.get(place)
        serials = tuple(p.serial if p else "" for p in (one, other))
        if serials[0] != serials[1]:
            name = next(p.name for p in (other, one) if p)
            yield ChangedPart(*place, name, *serials)


def _changed_versions(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[ChangedVersion]:
    for name in sorted({*before, *after}):
        if before.get(name, "") != after.get(name, ""):
            yield ChangedVersion(name, before.get(name, ""), after.get(name, ""))
