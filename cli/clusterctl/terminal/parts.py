"""The parts of nodes by their serials: a table per node with what was replaced, or the document `parts`."""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING

from clusterctl.core import timestamps
from clusterctl.model.documents import FormerPart, NodeWithParts, PartsDocument, RecordedPart
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
        nodes = tuple(_document(name, [r for r in rows if r.node == name]) for name in names)
        out.emit(output, "parts", asdict(PartsDocument(nodes)))
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


def _document(name: str, rows: Sequence[PartRow]) -> NodeWithParts:
    parts = []
    for _, at_place in groupby(rows, key=_place):
        history = list(at_place)
        before = tuple(FormerPart(r.part.serial, r.first_run, r.ended_run) for r in history if r.ended_run)
        for now in (r for r in history if not r.ended_run):
            part = now.part
            seen = (now.first_run, now.first_seen, now.last_seen)
            parts.append(RecordedPart(part.kind, part.slot, part.name, part.model, part.serial, *seen, before))
    return NodeWithParts(name, tuple(parts))
