"""The parts of nodes: one row per serial at a place; a replaced part keeps its row, with the run that found its successor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, insert, select, text, update

from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.engine import reading, writing
from clusterctl.adapters.store.hardware_query import OF_ALL_NODES, OF_NAMED_NODES, hardware_by_node
from clusterctl.adapters.store.repository import Repository, slices, storable_text
from clusterctl.core.part_changes import part_changes
from clusterctl.model.part import Part, PartRow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection, Row

    from clusterctl.core.part_changes import PartChanges
    from clusterctl.model.recorded_hardware import RecordedHardware


class PartRepository(Repository):
    """Parts of nodes."""

    def parts(self, nodes: Iterable[str]) -> tuple[PartRow, ...]:
        """Every recorded part of these nodes, by node, kind, place and first sight; replaced ones have `ended_run`."""
        found: list[PartRow] = []
        with reading(self._engine) as connection:
            for part in slices(nodes):
                found += _rows(connection, part)
        return tuple(found)

    def hardware(self, nodes: Iterable[str] | None = None) -> dict[str, RecordedHardware]:
        """The hardware of these nodes, or of all, by their present parts; nodes without a recorded part are left out."""
        with reading(self._engine) as connection:
            if nodes is None:
                return hardware_by_node(connection.execute(text(OF_ALL_NODES)))
            query = text(OF_NAMED_NODES).bindparams(bindparam("names", expanding=True))
            rows = [row for part in slices(nodes) for row in connection.execute(query, {"names": list(part)})]
        return hardware_by_node(rows)

    def save_parts(self, run_id: str, node: str, parts: Iterable[Part]) -> PartChanges:
        """Record what a run found on a node, in one transaction. The node must be registered."""
        now, p = self._clock(), t.parts.c
        with writing(self._engine) as connection:
            changes = part_changes(node, run_id, _rows(connection, [node]), [_storable(one) for one in parts])
            for old in (*(r.before for r in changes.replaced), *changes.ended):
                here = (p.node == node) & (p.kind == old.kind) & (p.slot == old.slot) & (p.ended_run == "")
                connection.execute(update(t.parts).where(here).values(ended_run=run_id))
            for same in changes.same:
                here = (p.node == node) & (p.kind == same.kind) & (p.slot == same.slot) & (p.ended_run == "")
                connection.execute(update(t.parts).where(here).values(last_seen=now, name=same.name))
            for new in (*changes.new, *(r.after for r in changes.replaced)):
                seen = {"first_run": run_id, "first_seen": now, "last_seen": now, "ended_run": ""}
                connection.execute(insert(t.parts).values(node=node, **_values(new), **seen))
        return changes


def _rows(connection: Connection, nodes: Iterable[str]) -> list[PartRow]:
    p = t.parts.c
    order = (p.node, p.kind, p.slot, p.id)
    return [_row(r) for r in connection.execute(select(t.parts).where(p.node.in_(list(nodes))).order_by(*order))]


def _row(row: Row[Any]) -> PartRow:
    part = Part(row.kind, row.slot, row.name, row.model, row.serial)
    return PartRow(row.node, part, row.first_run, row.first_seen, row.last_seen, row.ended_run)


def _storable(part: Part) -> Part:
    return Part(part.kind, *(storable_text(text) for text in (part.slot, part.name, part.model, part.serial)))


def _values(part: Part) -> dict[str, str]:
    return {"kind": part.kind, "slot": part.slot, "name": part.name, "model": part.model, "serial": part.serial}
