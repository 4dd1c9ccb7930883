"""What the JSON API of `clusterctl serve` returns. Times are UTC, ISO 8601; an empty string is a time that there is not."""

from __future__ import annotations

from dataclasses import dataclass

# Pydantic reads the annotations when documents are written and the OpenAPI document is generated.
from clusterctl.model.capacity import Capacity, GpuCapacity  # noqa: TC001
from clusterctl.model.documents import RecordedPart  # noqa: TC001
from clusterctl.model.gate_result import GateResult  # noqa: TC001
from clusterctl.model.listed_node import ListedNode  # noqa: TC001
from clusterctl.model.measurement_series import MeasurementSeries  # noqa: TC001
from clusterctl.model.rack_condition import RackCondition  # noqa: TC001
from clusterctl.model.state import State  # noqa: TC001
from clusterctl.model.verdict import ReasonKind  # noqa: TC001
from clusterctl_validators.finding import Finding


@dataclass(frozen=True, slots=True)
class ProblemDocument:
    """Why there is no answer; `hint` is the next action, and may be empty."""

    detail: str
    hint: str


@dataclass(frozen=True, slots=True)
class ListedRack:
    """A rack with its nodes that are not retired; `states`: state -> number of nodes."""

    name: str
    condition: RackCondition
    admitted: int
    nodes: int
    states: dict[State, int]


@dataclass(frozen=True, slots=True)
class UnfinishedRun:
    """A run without a recorded end whose process is gone; `nodes` are those it left in the middle, `admitted` those it admitted."""

    id: str
    verb: str
    target: str
    operator: str
    started_at: str
    nodes: tuple[str, ...]
    admitted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FleetDocument:
    """The whole fleet in numbers.

    Attributes:
        counts: of nodes.
        gpu_counts: of their GPUs.
        states: state -> number of nodes.
        without_rack: how many nodes are in no rack.
    """

    counts: Capacity
    gpu_counts: GpuCapacity
    states: dict[State, int]
    racks: tuple[ListedRack, ...]
    without_rack: int
    unfinished_runs: tuple[UnfinishedRun, ...]


@dataclass(frozen=True, slots=True)
class NodesDocument:
    """A part of the nodes that match, by rack, slot and name; `total` is how many match."""

    total: int
    offset: int
    limit: int
    nodes: tuple[ListedNode, ...]


@dataclass(frozen=True, slots=True)
class RackDocument:
    """A rack with its nodes by slot; retired nodes are listed and not counted."""

    rack: ListedRack
    nodes: tuple[ListedNode, ...]


@dataclass(frozen=True, slots=True)
class LifecycleStep:
    """A node changed its state; `cause` is why a run or a policy took it out, null for all others; `reason_code`, `component`, `component_name` and `next_action` are those of the node then."""

    at: str
    from_state: State
    to_state: State
    operator: str
    run_id: str
    reason: str
    cause: ReasonKind | None
    reason_code: str
    component: str
    component_name: str
    next_action: str


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run; `status` is running, done, failed, interrupted, abandoned, or unfinished: its process is gone and its end is not recorded."""

    id: str
    verb: str
    target: str
    operator: str
    started_at: str
    finished_at: str
    exit_code: int | None
    status: str


@dataclass(frozen=True)
class ReportedFinding(Finding):
    """A finding that is not good, with its codes.

    Attributes:
        component: what it is about; empty where the check does not state it.
        component_name: which one, where it is not a part of the node; empty otherwise.
        next_action: what to do first; empty where only the hint states it.
    """

    component: str = ""
    component_name: str = ""
    next_action: str = ""


@dataclass(frozen=True, slots=True)
class NewestFindings:
    """The newest validation of a node.

    Attributes:
        status: ok, or why it has no findings.
        counts: outcome -> number of findings.
        not_good: the findings that failed or could not run.
    """

    status: str
    detail: str
    counts: dict[str, int]
    not_good: tuple[ReportedFinding, ...]


@dataclass(frozen=True, slots=True)
class AdmissionSummary:
    """An admission; `digest` is the sha256 of its record, which `clusterctl admit --verify` checks."""

    at: str
    run_id: str
    operator: str
    spec_digest: str
    digest: str
    signed: bool


@dataclass(frozen=True, slots=True)
class NodeDocument:
    """Everything recorded of a node; findings and gate results are the newest, runs newest first, all else oldest first."""

    node: ListedNode
    transitions: tuple[LifecycleStep, ...]
    runs: tuple[RunSummary, ...]
    findings: NewestFindings | None
    gate_results: tuple[GateResult, ...]
    measurements: tuple[MeasurementSeries, ...]
    admissions: tuple[AdmissionSummary, ...]
    parts: tuple[RecordedPart, ...]


@dataclass(frozen=True, slots=True)
class RunsDocument:
    """The newest runs, newest first."""

    runs: tuple[RunSummary, ...]


@dataclass(frozen=True, slots=True)
class RunNode:
    """How far a run got on a node."""

    name: str
    phase: str
    outcome: str
    detail: str


@dataclass(frozen=True, slots=True)
class RunDocument:
    """A run with its nodes, by name; `phases`: phase -> number of nodes."""

    run: RunSummary
    argv: tuple[str, ...]
    versions: dict[str, str]
    phases: dict[str, int]
    nodes: tuple[RunNode, ...]


@dataclass(frozen=True, slots=True)
class RunProgress:
    """A run in progress; `phases`: phase -> number of nodes, the empty phase for those that it has not begun with."""

    id: str
    verb: str
    target: str
    operator: str
    started_at: str
    phases: dict[str, int]


@dataclass(frozen=True, slots=True)
class ProgressDocument:
    """The runs in progress, oldest first."""

    runs: tuple[RunProgress, ...]
