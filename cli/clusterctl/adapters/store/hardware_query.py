"""Counts the present parts of nodes in the database itself: a fleet has half a million. No SQLAlchemy here, for readers that do without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterctl.model.recorded_hardware import RecordedHardware

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_FIELDS = (
    "SELECT node, max(CASE WHEN kind = 'system' THEN serial END), max(CASE WHEN kind = 'system' THEN model END),"
    " max(CASE WHEN kind = 'gpu' THEN model END), sum(CASE WHEN kind = 'gpu' THEN 1 ELSE 0 END)"
    " FROM parts WHERE ended_run = ''"
)
OF_ALL_NODES = f"{_FIELDS} GROUP BY node"
OF_NAMED_NODES = f"{_FIELDS} AND node IN :names GROUP BY node"


def hardware_by_node(rows: Iterable[Sequence[Any]]) -> dict[str, RecordedHardware]:
    """Node -> its hardware, from rows of one of these queries. Nodes without a recorded part have none."""
    return {
        node: RecordedHardware(serial or "", machine_model or "", gpu_model or "", int(gpus))
        for node, serial, machine_model, gpu_model, gpus in rows
    }
