"""The result of `drain` and `release`: a line per node, or the document of the verb; on stderr what was refused, and what still runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.move import MoveOutcome
from clusterctl.model.running_text import fold_names
from clusterctl.model.state_documents import DrainDocument, DrainedNode, MovedNode, ReleaseDocument
from clusterctl.terminal import messages, out
from clusterctl.terminal.safe_text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.model.move import Move, StillRunning
    from clusterctl.model.state import State

_WORDS = {MoveOutcome.MOVED: "", MoveOutcome.ALREADY: "already ", MoveOutcome.REFUSED: "still "}


def note_waiting(found: Mapping[str, str]) -> None:
    """What is waited for now."""
    for node, jobs in sorted(found.items()):
        messages.note(f"{node}: waiting for {jobs}")


def show_drained(moves: Sequence[Move], output: str, running: StillRunning) -> ExitCode:
    """Print it, with what still runs there; returns the exit code: 2 if a node was refused."""
    if output == "table":
        _table(moves)
    else:
        out.emit_document(output, "drain", DrainDocument(tuple(DrainedNode(*_values(m), _jobs(m, running)) for m in moves)))
    _note_running(running)
    return _note_refused(moves)


def show_released(moves: Sequence[Move], output: str) -> ExitCode:
    """Print it; returns the exit code: 2 if a node was refused."""
    if output == "table":
        _table(moves)
    else:
        out.emit_document(output, "release", ReleaseDocument(tuple(MovedNode(*_values(m)) for m in moves)))
    return _note_refused(moves)


def _table(moves: Sequence[Move]) -> None:
    rows = [(m.node, m.from_state.value, f"{_WORDS[m.outcome]}{m.to_state.value}", printable(_reason(m))) for m in moves]
    out.table(("NODE", "WAS", "IS", "REASON"), rows)


def _note_refused(moves: Sequence[Move]) -> ExitCode:
    """Those that are refused alike are named in one line."""
    refused: dict[tuple[str, str], list[str]] = {}
    for move in (m for m in moves if m.outcome is MoveOutcome.REFUSED):
        refused.setdefault((move.detail, move.hint), []).append(move.node)
    for (detail, hint), names in refused.items():
        is_named = names[0] in detail
        messages.failure(detail if is_named else f"{fold_names(names)}: {detail}", hint)
    return ExitCode.USAGE if refused else ExitCode.OK


def _note_running(running: StillRunning) -> None:
    if running.problem:
        messages.failure(f"what still runs there is not known: {running.problem}", running.hint)
    for node, jobs in sorted(running.jobs.items()):
        messages.note(f"{node}: still in use: {jobs}")


def _jobs(move: Move, running: StillRunning) -> str | None:
    """Empty = none; None = not known, or not queried because the node stayed where it was."""
    return None if running.problem or move.outcome is MoveOutcome.REFUSED else running.jobs.get(move.node, "")


def _reason(move: Move) -> str:
    return "refused" if move.outcome is MoveOutcome.REFUSED else move.detail


def _values(move: Move) -> tuple[str, State, State, MoveOutcome, str, str]:
    return move.node, move.from_state, move.to_state, move.outcome, move.detail, move.reason_code
