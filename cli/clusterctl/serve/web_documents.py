"""Results -> documents of the JSON API; the pages show the same. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.core.capacity import capacity_of, gpu_capacity_of
from clusterctl.core.finding_hint import named_hint
from clusterctl.core.listed_nodes import listed_nodes
from clusterctl.core.recorded_parts import recorded_parts
from clusterctl.core.repairs import repair_of_finding, repair_of_result
from clusterctl.model.node_story import shown_status
from clusterctl.model.state import State
from clusterctl.model.web_documents import (
    AdmissionSummary,
    FleetDocument,
    LifecycleStep,
    ListedRack,
    NewestFindings,
    NodeDocument,
    ReportedFinding,
    RunDocument,
    RunNode,
    RunSummary,
    UnfinishedRun,
)
from clusterctl_validators.finding import GOOD, Finding

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from clusterctl.model.browsed import NodePage, RunPage
    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.overview import Overview
    from clusterctl.model.recorded_hardware import RecordedHardware
    from clusterctl.model.records import RunRow


def fleet_document(found: Overview, hardware: Mapping[str, RecordedHardware]) -> FleetDocument:
    """The fleet in numbers."""
    return FleetDocument(
        counts=capacity_of(found),
        gpu_counts=gpu_capacity_of(found, hardware),
        states=_by_state(n.state for n in found.nodes),
        racks=listed_racks(found),
        without_rack=sum(not n.rack for n in found.nodes),
        unfinished_runs=tuple(
            UnfinishedRun(u.run.id, u.run.verb, u.run.target, u.run.operator, u.run.started_at, u.left, u.admitted)
            for u in found.unfinished
        ),
    )


def listed_racks(found: Overview) -> tuple[ListedRack, ...]:
    """The racks, by name."""
    states: defaultdict[str, Counter[State]] = defaultdict(Counter)
    for node in found.nodes:
        if node.state is not State.RETIRED:
            states[node.rack][node.state] += 1
    return tuple(ListedRack(r.name, r.condition, r.admitted, r.nodes, _by_state(states[r.name].elements())) for r in found.racks)


def _by_state(states: Iterable[State]) -> dict[State, int]:
    found = Counter(states)
    return {s: found[s] for s in State if found[s]}


def node_document(found: Overview, page: NodePage, hardware: Mapping[str, RecordedHardware]) -> NodeDocument:
    """Everything recorded of a node."""
    story = page.story
    return NodeDocument(
        node=listed_nodes(found, (story.node,), hardware)[0],
        transitions=tuple(
            LifecycleStep(
                s.at,
                s.from_state,
                s.to_state,
                s.operator,
                s.run_id,
                s.reason,
                s.cause,
                s.reason_code,
                s.component,
                s.component_name,
                s.next_action,
            )
            for s in story.transitions
        ),
        runs=tuple(run_summary(r, story.unfinished) for r in story.runs),
        findings=_findings(story.findings),
        gate_results=tuple(replace(r, repair=repair_of_result(r)) for r in story.gate_results),
        measurements=page.measurements,
        admissions=tuple(
            AdmissionSummary(a.at, a.run_id, a.operator, a.spec_digest, a.digest, bool(a.signature)) for a in story.admissions
        ),
        parts=recorded_parts(story.parts),
    )


def _findings(found: NodeFindings | None) -> NewestFindings | None:
    if found is None:
        return None
    counts: Mapping[str, int] = Counter(f.outcome.value for f in found.findings)
    bad = tuple(_reported(f, found.node) for f in found.findings if f.outcome not in GOOD)
    return NewestFindings(found.status.value, found.detail, dict(counts), bad)


def _reported(finding: Finding, node: str) -> ReportedFinding:
    named = vars(replace(finding, hint=named_hint(finding, node)))
    return ReportedFinding(**(named | repair_of_finding(finding).to_json()))


def run_summary(run: RunRow, unfinished: Collection[str]) -> RunSummary:
    """A run in a list."""
    status = shown_status(run, unfinished)
    return RunSummary(run.id, run.verb, run.target, run.operator, run.started_at, run.finished_at, run.exit_code, status)


def run_document(page: RunPage) -> RunDocument:
    """A run with its nodes."""
    nodes = tuple(RunNode(n.node, n.phase, n.outcome, n.detail) for n in page.nodes)
    return RunDocument(run_summary(page.run, page.unfinished), page.run.argv, dict(page.run.versions), dict(page.phases), nodes)
