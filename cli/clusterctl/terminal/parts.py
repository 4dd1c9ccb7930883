"""The parts of nodes by their serials: a table per node with what was replaced, or the document `parts`."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from clusterctl.core import timestamps
from clusterctl.terminal import messages, out
from clusterctl.terminal.safe_text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.model.part import NodeParts, PartRow

_COLUMNS = ("NODE", "PART", "MODEL", "SERIAL", "FIRST SEEN", "LAST SEEN", "REPLACED")


def show_unread(found: Sequence[NodeParts]) -> None:
    """What could not be read now, on stderr."""
    for node in found:
        if node.problem:
            messages.note(f"{node.node}: parts not read: {printable(node.problem)}")
        for kinds, why in node.missing:
            messages.note(f"{node.node}: {kinds} not read: {printable(why)}")


def show_parts(names: Sequence[str], rows: Sequence[PartRow], output: str) -> None:
    """Print them; `names` are the nodes of the target, also those without a recorded part."""
    if output != "table":
        out.emit(output, "parts", {"nodes": [_json(name, [r for r in rows if r.node == name]) for name in names]})
        return
    out.table(_COLUMNS, [_row(r, _predecessor(r, rows)) for r in rows if not r.ended_run])
    for name in names:
        if not any(r.node == name for r in rows):
            out.print_text(f"{name}: no part is recorded; --read asks the node")


def _predecessor(row: PartRow, rows: Sequence[PartRow]) -> PartRow | None:
    """The part that this one replaced; None for the first at its place."""
    return next((r for r in rows if _place(r) == _place(row) and r.ended_run and r.ended_run == row.first_run), None)


def _place(row: PartRow) -> tuple[str, str, str]:
    return row.node, row.part.kind, row.part.slot


def _row(r: PartRow, old: PartRow | None) -> tuple[str, ...]:
    replaced = f"serial {old.part.serial} -> {r.part.serial} since run {r.first_run}" if old else ""
    seen = (timestamps.short(r.first_seen), timestamps.short(r.last_seen))
    return r.node, printable(r.part.name), printable(r.part.model) or "-", printable(r.part.serial), *seen, printable(replaced)


def _json(name: str, rows: Sequence[PartRow]) -> dict[str, Any]:
    parts = []
    for _, at_place in groupby(rows, key=_place):
        history = list(at_place)
        for now in (r for r in history if not r.ended_run):
            part = now.part
            parts.append(
                {
                    "kind": part.kind,
                    "slot": part.slot,
                    "name": part.name,
                    "model": part.model,
                    "serial": part.serial,
                    "first_run": now.first_run,
                    "first_seen": now.first_seen,
                    "last_seen": now.last_seen,
                    "before": [
                        {"serial": r.part.serial, "first_run": r.first_run, "replaced_in": r.ended_run} for r in history if r.ended_run
                    ],
                }
            )
    return {"name": name, "parts": parts}
