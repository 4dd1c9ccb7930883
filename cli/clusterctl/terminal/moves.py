"""The result of `drain` and `release`: a line per node, or the document named after the verb."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.terminal import out
from clusterctl.terminal.safe_text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.model.move import Move


def show_moves(verb: str, moves: Sequence[Move], output: str) -> None:
    """Print it."""
    if output == "table":
        out.table(("NODE", "WAS", "IS", "REASON"), [(m.node, m.from_state.value, m.to_state.value, printable(m.detail)) for m in moves])
        return
    nodes = [{"name": m.node, "from": m.from_state.value, "state": m.to_state.value, "reason": m.detail} for m in moves]
    out.emit(output, verb, {"nodes": nodes})
