"""The result of `drain` and `release`: a line per node, or the document named after the verb; what was refused on stderr, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.move import MoveOutcome
from clusterctl.terminal import messages, out
from clusterctl.terminal.safe_text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.model.move import Move

_WORDS = {MoveOutcome.MOVED: "", MoveOutcome.ALREADY: "already ", MoveOutcome.REFUSED: "still "}


def show_moves(verb: str, moves: Sequence[Move], output: str) -> int:
    """Print it; returns the exit code: 2 if a node was refused."""
    if output == "table":
        rows = [(m.node, m.from_state.value, f"{_WORDS[m.outcome]}{m.to_state.value}", printable(_reason(m))) for m in moves]
        out.table(("NODE", "WAS", "IS", "REASON"), rows)
    else:
        out.emit(output, verb, {"nodes": [_json(m) for m in moves]})
    refused = [m for m in moves if m.outcome is MoveOutcome.REFUSED]
    for move in refused:
        messages.failure(move.detail, move.hint)
    return ExitCode.USAGE if refused else ExitCode.OK


def _reason(move: Move) -> str:
    return "refused" if move.outcome is MoveOutcome.REFUSED else move.detail


def _json(move: Move) -> dict[str, str]:
    states = {"from": move.from_state.value, "state": move.to_state.value}
    return {"name": move.node, **states, "outcome": move.outcome.value, "reason": move.detail}
