"""Results -> documents of the JSON API; the pages show the same. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import fields, replace
from itertools import groupby
from typing import TYPE_CHECKING

from clusterctl.core.capacity import capacity_of, is_healthy
from clusterctl.core.finding_hint import named_hint
from clusterctl.core.node_summary import node_summary
from clusterctl.core.recorded_parts import recorded_parts
from clusterctl.model.node_story import shown_status
from clusterctl.model.node_summary import NodeSummary
from clusterctl.model.state import State
from clusterctl.model.web_documents import (
    AdmissionSummary,
    FailedValidation,
    FleetDocument,
    HoldingRun,
    LifecycleStep,
    ListedNode,
    ListedRack,
    NewestFindings,
    NodeDocument,
    RunDocument,
    RunNode,
    RunSummary,
    UnfinishedRun,
)
from clusterctl_validators.finding import GOOD

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from clusterctl.model.browsed import NodePage, RunPage
    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.overview import Overview
    from clusterctl.model.part import PartRow
    from clusterctl.model.records import Lease, NodeRecord, RunRow, Unanswered

_SUMMARY = tuple(f.name for f in fields(NodeSummary))


def fleet_document(found: Overview) -> FleetDocument:
    """The fleet in numbers."""
    return FleetDocument(
        counts=capacity_of(found),
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


def listed_nodes(found: Overview, nodes: Sequence[NodeRecord], parts: Iterable[PartRow]) -> tuple[ListedNode, ...]:
    """These nodes of the fleet, with what their recorded parts say; parts are in the order of the store."""
    present = {name: [r for r in rows if not r.ended_run] for name, rows in groupby(parts, key=lambda r: r.node)}
    return tuple(_listed(found, n, present.get(n.name, ())) for n in nodes)


def _listed(found: Overview, node: NodeRecord, parts: Sequence[PartRow]) -> ListedNode:
    summary = node_summary(node)
    gpus = [r.part for r in parts if r.part.kind == "gpu"]
    return ListedNode(
        **{name: getattr(summary, name) for name in _SUMMARY},
        groups=node.groups,
        healthy=is_healthy(node, found),
        admitted_at=node.since if node.state is State.ADMITTED else None,
        serial=next((r.part.serial for r in parts if r.part.kind == "system"), ""),
        gpu_model=gpus[0].model if gpus else "",
        gpus=len(gpus),
        held_by=_held(found.held.get(node.name)),
        unanswered=_unanswered(found.unanswered.get(node.name)),
    )


def _held(lease: Lease | None) -> HoldingRun | None:
    return HoldingRun(lease.holder, lease.run_id, lease.acquired_at, lease.expires_at) if lease else None


def _unanswered(last: Unanswered | None) -> FailedValidation | None:
    return FailedValidation(last.status, last.detail, last.run_id, last.at) if last else None


def node_document(found: Overview, page: NodePage) -> NodeDocument:
    """Everything recorded of a node."""
    story = page.story
    return NodeDocument(
        node=listed_nodes(found, (story.node,), story.parts)[0],
        transitions=tuple(
            LifecycleStep(s.at, s.from_state, s.to_state, s.operator, s.run_id, s.reason, s.cause) for s in story.transitions
        ),
        runs=tuple(run_summary(r, story.unfinished) for r in story.runs),
        findings=_findings(story.findings),
        gate_results=tuple(story.gate_results),
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
    bad = (replace(f, hint=named_hint(f, found.node)) for f in found.findings if f.outcome not in GOOD)
    return NewestFindings(found.status.value, found.detail, dict(counts), tuple(bad))


def run_summary(run: RunRow, unfinished: Collection[str]) -> RunSummary:
    """A run in a list."""
    status = shown_status(run, unfinished)
    return RunSummary(run.id, run.verb, run.target, run.operator, run.started_at, run.finished_at, run.exit_code, status)


def run_document(page: RunPage) -> RunDocument:
    """A run with its nodes."""
    nodes = tuple(RunNode(n.node, n.phase, n.outcome, n.detail) for n in page.nodes)
    return RunDocument(run_summary(page.run, page.unfinished), page.run.argv, dict(page.run.versions), dict(page.phases), nodes)
