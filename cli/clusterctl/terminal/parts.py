"""The parts of nodes by their serials: a table per node with what was replaced, or the document `parts`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from clusterctl.core import timestamps
from clusterctl.core.recorded_parts import place_of, recorded_parts
from clusterctl.model.documents import NodeWithParts, PartsDocument
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
        nodes = tuple(NodeWithParts(name, recorded_parts([r for r in rows if r.node == name])) for name in names)
        out.emit(output, "parts", asdict(PartsDocument(nodes)))
        return
    out.table(_COLUMNS, [_row(r, _predecessor(r, rows)) for r in rows if not r.ended_run])
    for name in names:
        if not any(r.node == name for r in rows):
            out.print_text(f"{name}: no part is recorded; --read queries the node")


def _predecessor(row: PartRow, rows: Sequence[PartRow]) -> PartRow | None:
    """The part that this one replaced; None for the first at its place."""
    return next((r for r in rows if place_of(r) == place_of(row) and r.ended_run and r.ended_run == row.first_run), None)


def _row(r: PartRow, old: PartRow | None) -> tuple[str, ...]:
    replaced = f"serial {old.part.serial} -> {r.part.serial} since run {r.first_run}" if old else ""
    seen = (timestamps.short(r.first_seen), timestamps.short(r.last_seen))
    return r.node, printable(r.part.name), printable(r.part.model) or "-", printable(r.part.serial), *seen, printable(replaced)
