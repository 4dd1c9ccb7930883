"""Progress of a provisioning run on stderr: a live board on a terminal, plain lines elsewhere."""

from __future__ import annotations

import re
import sys
import time
from contextlib import contextmanager
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from clusterctl.model.provision import NodeMoved, Note, Phase, PhaseStarted, TaskSeen
from clusterctl.terminal.board import Board, visible_rows
from clusterctl.terminal.node_ends import NodeEnds
from clusterctl.terminal.out import terminal_console
from clusterctl.terminal.plain import PlainView
from clusterctl.terminal.safe_text import printable, printable_lines
from clusterctl.terminal.states import SIGNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from rich.console import Console, RenderableType
    from rich.live import Live

    from clusterctl.model.provision import Progress
    from clusterctl.model.task_event import TaskEvent
    from clusterctl.terminal.board import Row

_STYLES = {"admitted": "green", "quarantined": "bold red", "drained": "yellow", "registered": "white"}
_FRAME = 6
_FEW = 4
_TASK = re.compile(r"^\s*- name:", re.MULTILINE)
_SHARED = re.compile(r"shared/tasks/([^\"\n]+\.yml)")


def task_counts(role_dirs: Iterable[Path]) -> dict[str, int]:
    """Role -> number of tasks in its files and in the shared ones that they include; an upper bound, for the bar and the time left."""
    texts = {f: f.read_text(encoding="utf-8") for roles in role_dirs for f in roles.glob("*/tasks/*.yml")}
    shared = {f.name: text for f, text in texts.items() if f.parts[-3] == "shared"}
    counts: dict[str, int] = {}
    for file, text in texts.items():
        role = file.parts[-3]
        counts[role] = counts.get(role, 0) + _tasks(text, shared)
    return counts


def _tasks(text: str, shared: Mapping[str, str]) -> int:
    """Tasks of a file, with those of the shared files that it includes; a name with the family of the distribution counts both."""
    patterns = [re.sub("{{.*?}}", "*", name) for name in _SHARED.findall(text)]
    included = [other for name, other in shared.items() if any(fnmatch(name, p) for p in patterns)]
    return len(_TASK.findall(text)) + sum(_tasks(other, shared) for other in included)


def view(counts: Mapping[str, int]) -> PlainView | LiveView:
    """The view that suits stderr."""
    return LiveView(counts) if sys.stderr.isatty() else PlainView()


@contextmanager
def burnin_progress(nodes: Sequence[str], level: str) -> Iterator[Callable[[TaskEvent], None]]:
    """The view of a burn-in that is not part of a provisioning run; takes the task events of its playbooks."""
    with view({}) as shown:
        shown(PhaseStarted(Phase.BURN_IN, tuple(nodes), level))
        yield lambda event: shown(TaskSeen(Phase.BURN_IN, event))


class LiveView:
    """A row per node, a bar over all, redrawn four times a second."""

    def __init__(self, counts: Mapping[str, int], console: Console | None = None) -> None:
        from rich.live import Live as RichLive  # noqa: PLC0415 heavy, only for people

        self._console = console or terminal_console(stderr=True)
        self._board = Board(counts)
        self._ends = NodeEnds()
        self._started = time.monotonic()
        self._live: Live = RichLive(console=self._console, refresh_per_second=4, transient=True, get_renderable=self.draw)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.pause()

    def __call__(self, progress: Progress) -> None:
        """Show one progress event; lasting messages scroll away above the board."""
        self._board.update(progress)
        if isinstance(progress, PhaseStarted | Note):
            self._print_ends()
        if isinstance(progress, PhaseStarted) and not self._live.is_started:
            self._live.start()
        if isinstance(progress, Note):
            self.output(progress.text)
        elif isinstance(progress, NodeMoved) and progress.step is Phase.DONE and progress.reason:
            self._ends.add(progress)

    def output(self, text: str) -> None:
        """A line above the board."""
        self._console.print(printable_lines(text), markup=False, highlight=False, soft_wrap=True)

    def pause(self) -> None:
        """Remove the board for a prompt; the next step restores it."""
        self._print_ends()
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
            hidden_failures = sum(r.failed for r in rows) - sum(r.failed for r in shown)
            failures = f", {hidden_failures} of them failed" if hidden_failures else ""
            grid.add_row("", "", Text(f"and {len(rows) - len(shown)} more{failures}", "dim"), "")
        left = self._board.eta_s(elapsed)
        foot = Table.grid(padding=(0, 2))
        ended = sum(r.ended for r in rows)
        words = f"{ended}/{len(rows)} nodes  {clock(elapsed)}" + (f"  about {clock(left)} left" if left is not None else "")
        foot.add_row(Text(self._board.step.value, "bold"), ProgressBar(total=1, completed=self._board.fraction, width=40), Text(words))
        return Group(grid, foot)

    def _fit(self, rows: list[Row]) -> list[Row]:
        return visible_rows(rows, max(self._console.size.height - _FRAME, _FEW))

    def _print_ends(self) -> None:
        for line in self._ends.take():
            self.output(line)


def clock(seconds: float) -> str:
    """`3:07`, or `1:02:03`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
