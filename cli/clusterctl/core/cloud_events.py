"""Records -> CloudEvents. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.model.cloud_event import CloudEvent

if TYPE_CHECKING:
    from collections.abc import Callable

    from clusterctl.model.notice import MaintenanceNotice
    from clusterctl.model.records import BreakerEvent, RunRow, TransitionRow

# receivers need not take more than 64 KiB (CloudEvents 1.0.2, size limits)
_MOST_CHARACTERS = 4000


def transition_event(row: TransitionRow, source: str, mask: Callable[[str], str]) -> CloudEvent:
    """A node entered a state."""
    data = {
        "node": row.node,
        "from_state": row.from_state.value,
        "to_state": row.to_state.value,
        "reason": _text(row.reason, mask),
        "cause": row.cause.value if row.cause else None,
        "reason_code": row.reason_code,
        "component": row.component,
        "component_name": row.component_name,
        "next_action": row.next_action,
        "operator": row.operator,
        "run_id": row.run_id,
    }
    return CloudEvent(f"transition-{row.id}", source, f"clusterctl.node.{row.to_state.value}", row.node, row.at, data)


def run_event(row: RunRow, source: str, mask: Callable[[str], str]) -> CloudEvent:
    """A run ended."""
    data = {
        "run_id": row.id,
        "verb": row.verb,
        "target": _text(row.target, mask),
        "operator": row.operator,
        "started_at": row.started_at,
        "status": row.status.value,
        "exit_code": row.exit_code,
    }
    return CloudEvent(f"run-{row.id}", source, "clusterctl.run.ended", row.id, row.finished_at, data)


def breaker_event(row: BreakerEvent, source: str, mask: Callable[[str], str]) -> CloudEvent:
    """The circuit breaker tripped, or a person reset it."""
    data = {"operator": row.operator, "reason": _text(row.reason, mask)}
    return CloudEvent(f"breaker-{row.kind.value}-{row.at}", source, f"clusterctl.breaker.{row.kind.value}", "", row.at, data)


def notice_event(row: MaintenanceNotice, source: str, mask: Callable[[str], str]) -> CloudEvent:
    """Planned maintenance was announced, rescheduled or cancelled."""
    data = {
        "id": row.id,
        "nodes": list(row.nodes),
        "begins_at": row.period.begins_at,
        "ends_at": row.period.ends_at,
        "reason": _text(row.reason, mask),
        "operator": row.operator,
    }
    return CloudEvent(f"notice-{row.change}", source, f"clusterctl.maintenance.{row.state.value}", str(row.id), row.at, data)


def _text(text: str, mask: Callable[[str], str]) -> str:
    return mask(text)[:_MOST_CHARACTERS]
