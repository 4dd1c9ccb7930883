"""Nodes as those who poll them get them. Pure."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields
from typing import TYPE_CHECKING

from clusterctl.core.capacity import is_healthy
from clusterctl.core.node_summary import node_summary
from clusterctl.model.listed_node import FailedValidation, HoldingRun, ListedNode, PlannedMaintenance
from clusterctl.model.node_summary import NodeSummary
from clusterctl.model.recorded_hardware import RecordedHardware
from clusterctl.model.state import State

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from clusterctl.model.notice import MaintenanceNotice
    from clusterctl.model.overview import Overview
    from clusterctl.model.records import Lease, NodeRecord, Unanswered

_SUMMARY = tuple(f.name for f in fields(NodeSummary))
_UNSEEN = RecordedHardware("", "", "", 0)


def listed_nodes(found: Overview, nodes: Iterable[NodeRecord], hardware: Mapping[str, RecordedHardware]) -> tuple[ListedNode, ...]:
    """These nodes of an overview, with what their recorded parts show."""
    planned = _by_node(found.notices)
    return tuple(_listed(found, n, hardware.get(n.name), planned.get(n.name, ())) for n in nodes)


def _listed(found: Overview, node: NodeRecord, hardware: RecordedHardware | None, planned: Sequence[PlannedMaintenance]) -> ListedNode:
    summary, seen = node_summary(node), hardware or _UNSEEN
    return ListedNode(
        **{name: getattr(summary, name) for name in _SUMMARY},
        groups=node.groups,
        healthy=is_healthy(node, found),
        in_use=None if found.busy is None else node.name in found.busy,
        admitted_at=node.since if node.state is State.ADMITTED else None,
        serial=seen.serial,
        hardware_type=seen.machine_model,
        gpu_model=seen.gpu_model,
        gpus=hardware.gpus if hardware else None,
        leaf=node.leaf,
        spine=node.spine,
        nvlink_domain=node.nvlink_domain,
        held_by=_held(found.held.get(node.name)),
        unanswered=_unanswered(found.unanswered.get(node.name)),
        planned_maintenance=tuple(planned),
    )


def _by_node(notices: Iterable[MaintenanceNotice]) -> dict[str, list[PlannedMaintenance]]:
    found: defaultdict[str, list[PlannedMaintenance]] = defaultdict(list)
    for n in notices:
        planned = PlannedMaintenance(n.id, n.period.begins_at, n.period.ends_at, n.reason, n.operator)
        for name in n.nodes:
            found[name].append(planned)
    return found


def _held(lease: Lease | None) -> HoldingRun | None:
    return HoldingRun(lease.holder, lease.run_id, lease.acquired_at, lease.expires_at) if lease else None


def _unanswered(last: Unanswered | None) -> FailedValidation | None:
    return FailedValidation(last.status, last.detail, last.run_id, last.at) if last else None
