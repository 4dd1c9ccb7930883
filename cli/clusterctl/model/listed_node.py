"""A node for those who poll it: the same in `clusterctl status -o json` and in the JSON API. Times are UTC, ISO 8601."""

from __future__ import annotations

from dataclasses import dataclass

from clusterctl.model.node_summary import NodeSummary


@dataclass(frozen=True, slots=True)
class HoldingRun:
    """The run that is changing a node now, and until when it may go on without a sign of life."""

    holder: str
    run_id: str
    since: str
    until: str


@dataclass(frozen=True, slots=True)
class FailedValidation:
    """The newest validation of a node, where it gave no findings: how it ended, and in whose words."""

    status: str
    detail: str
    run_id: str
    at: str


@dataclass(frozen=True, slots=True)
class PlannedMaintenance:
    """A notice that names a node: which, from when to when, and in whose words."""

    id: int
    begins_at: str
    ends_at: str
    reason: str
    operator: str


@dataclass(frozen=True, slots=True)
class ListedNode(NodeSummary):
    """A node for those who poll it.

    Attributes:
        groups: of the inventory, nearest last.
        healthy: admitted, and answered when last validated.
        in_use: whether a job runs on it; null where the pool was not queried, or does not report it.
        admitted_at: since when it is available; null where it is not admitted.
        serial: of the machine, its identity whatever it is called; empty where none is recorded. So for the next two.
        hardware_type: model of the machine.
        gpu_model: of its GPUs.
        gpus: how many GPUs with a serial were seen in it; null where no part is recorded.
        leaf: switch that the inventory declares; empty where it declares none. So for the next two.
        spine: above the leaf.
        nvlink_domain: of an NVLink rack.
        planned_maintenance: the notices that name it and are not over, by beginning.
    """

    groups: tuple[str, ...]
    healthy: bool
    in_use: bool | None
    admitted_at: str | None
    serial: str
    hardware_type: str
    gpu_model: str
    gpus: int | None
    leaf: str
    spine: str
    nvlink_domain: str
    held_by: HoldingRun | None
    unanswered: FailedValidation | None
    planned_maintenance: tuple[PlannedMaintenance, ...]
