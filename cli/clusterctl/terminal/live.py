"""Progress of a provisioning run on stderr: a board that redraws itself on a terminal, plain lines elsewhere."""

from __future__ import annotations

import re
import sys
import time
from typing import TYPE_CHECKING

from clusterctl.model.provision import NodeMoved, Note, Phase, PhaseStarted, TaskSeen
from clusterctl.terminal.board import Board
from clusterctl.terminal.states import SIGNS, printable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from rich.console import Console, RenderableType
    from rich.live import Live

    from clusterctl.model.provision import Progress
    from clusterctl.terminal.board import Row

_STYLES = {"admitted": "green", "quarantined": "bold red", "drained": "yellow", "registered": "white"}
_FRAME = 6
_FEW = 4


def task_counts(roles: Path) -> dict[str, int]:
    """Role -> number of tasks in its files; an upper bound, for the bar and the time left."""
    named = re.compile(r"^\s*- name:", re.MULTILINE)
    return {
        folder.name: sum(len(named.findall(f.read_text(encoding="utf-8"))) for f in (folder / "tasks").glob("*.yml"))
        for folder in roles.iterdir()
        if (folder / "tasks").is_dir()
    }


def view(counts: Mapping[str, int]) -> PlainView | LiveView:
    """The view that suits stderr."""
    return LiveView(counts) if sys.stderr.isatty() else PlainView()


class PlainView:
    """One line per step, per node that begins with a role, and per node whose state changed for good; of many nodes, the first with a role."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._many = False
        self._begun: set[tuple[str, str]] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Nothing to put away."""

    def __call__(self, progress: Progress) -> None:
        """Tell what is worth a line."""
        if isinstance(progress, PhaseStarted):
            detail = f" ({progress.detail})" if progress.detail else ""
            self.line(f"{progress.step.value}: {folded(progress.nodes)}{detail}")
            self._many, self._begun = len(progress.nodes) > 2 * _FEW, set()
        elif isinstance(progress, TaskSeen):
            self._begins(progress.step, progress.event.node, progress.event.role)
        elif isinstance(progress, NodeMoved) and progress.step is Phase.DONE:
            self.line(f"{progress.node} {progress.state.value}" + (f": {progress.reason}" if progress.reason else ""))
        elif isinstance(progress, Note):
            self.line(progress.text)

    def _begins(self, step: Phase, node: str, role: str) -> None:
        key = ("" if self._many else node, role)
        if role and key not in self._begun:
            self._begun.add(key)
            self.line(f"{step.value}: {role} begins on {node}")

    def output(self, text: str) -> None:
        """Ansible's own output, for -v."""
        sys.stderr.write(printable_lines(text) + "\n")

    def line(self, text: str) -> None:
        """A line with the time since the start."""
        sys.stderr.write(f"[{time.monotonic() - self._started:4.0f}s] {printable(text)}\n")
        sys.stderr.flush()

    def pause(self) -> None:
        """Nothing is drawn that a question could disturb."""


class LiveView:
    """A row per node, a bar over all, redrawn four times a second."""

    def __init__(self, counts: Mapping[str, int], console: Console | None = None) -> None:
        from rich.console import Console as RichConsole  # noqa: PLC0415 heavy, only for people
        from rich.live import Live as RichLive  # noqa: PLC0415

        self._console = console or RichConsole(stderr=True)
        self._board = Board(counts)
        self._started = time.monotonic()
        self._live: Live = RichLive(console=self._console, refresh_per_second=4, transient=True, get_renderable=self.draw)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.pause()

    def __call__(self, progress: Progress) -> None:
        """Take it in; what is worth keeping scrolls away above the board."""
        self._board.update(progress)
        if isinstance(progress, PhaseStarted) and not self._live.is_started:
            self._live.start()
        if isinstance(progress, Note):
            self.output(progress.text)
        elif isinstance(progress, NodeMoved) and progress.step is Phase.DONE and progress.reason:
            self.output(f"{progress.node} {progress.state.value}: {progress.reason}")

    def output(self, text: str) -> None:
        """A line above the board."""
        self._console.print(printable_lines(text), markup=False, highlight=False, soft_wrap=True)

    def pause(self) -> None:
        """Take the board away, so that a question can be asked; the next step brings it back."""
        if self._live.is_started:
            self._live.stop()

    def draw(self) -> RenderableType:
        """The board as it is now."""
        from rich.console import Group  # noqa: PLC0415
        from rich.progress_bar import ProgressBar  # noqa: PLC0415
        from rich.table import Table  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        elapsed = time.monotonic() - self._started
        rows = list(self._board.rows.values())
        shown = self._fit(rows)
        grid = Table.grid(padding=(0, 2), expand=True)
        for ratio in (None, None, 1, None):
            grid.add_column(ratio=ratio, no_wrap=True, overflow="ellipsis")
        for row in shown:
            state = row.state.value if row.state else "..."
            sign = SIGNS[row.state] if row.state else "·"
            changed = f"{row.changed} changed" if row.changed else ""
            style = _STYLES.get(state, "cyan")
            grid.add_row(Text(f"{sign} {state:<12}", style), Text(row.node, "bold"), Text(printable(row.doing)), Text(changed, "yellow"))
        if len(shown) < len(rows):
            grid.add_row("", "", Text(f"and {len(rows) - len(shown)} more", "dim"), "")
        left = self._board.eta_s(elapsed)
        foot = Table.grid(padding=(0, 2))
        ended = sum(r.ended for r in rows)
        words = f"{ended}/{len(rows)} nodes  {clock(elapsed)}" + (f"  about {clock(left)} left" if left is not None else "")
        foot.add_row(Text(self._board.step.value, "bold"), ProgressBar(total=1, completed=self._board.fraction, width=40), Text(words))
        return Group(grid, foot)

    def _fit(self, rows: list[Row]) -> list[Row]:
        room = max(self._console.size.height - _FRAME, _FEW)
        return rows if len(rows) <= room else sorted(rows, key=lambda r: r.ended)[:room]


def folded(names: tuple[str, ...]) -> str:
    """Names as a list, or how many there are with the first few."""
    return ", ".join(names) if len(names) <= 2 * _FEW else f"{len(names)} nodes ({', '.join(names[:_FEW])}, ...)"


def clock(seconds: float) -> str:
    """`3:07`, or `1:02:03`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def printable_lines(text: str) -> str:
    """Several lines, each safe for a terminal."""
    return "\n".join(printable(line) for line in text.rstrip().splitlines())
