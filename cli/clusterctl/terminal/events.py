"""What a pass of event delivery did, in a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.terminal import messages, out

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.model.cloud_event import Delivered


def show_delivered(done: Delivered, letters_file: Path) -> None:
    """Print it."""
    if done.first:
        out.print_text("events count from now on; the next call sends what happened since")
    else:
        out.print_text(f"{done.sent} delivered, {done.dead} not")
    if done.kept:
        messages.note(f"{done.kept} dead letters wait in {letters_file}; `clusterctl events --replay` sends them again")
