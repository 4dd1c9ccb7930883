"""Progress of a provisioning run as plain lines on stderr, for logs: their number does not grow with the number of nodes that do well."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

from clusterctl.model.provision import NodeMoved, NodeQueried, Note, Phase, PhaseStarted, TaskSeen
from clusterctl.model.running_text import counted, duration_text, fold_names
from clusterctl.terminal.node_ends import NodeEnds
from clusterctl.terminal.pauses import Pauses
from clusterctl.terminal.role_progress import StepProgress
from clusterctl.terminal.safe_text import printable, printable_lines
from clusterctl.terminal.ticker import Ticker
from clusterctl.terminal.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from clusterctl.model.provision import Progress


class PlainView:
    """One line per step, one per role that ended in it, one per outcome; and progress lines while a role or a step takes long."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self._step: PhaseStarted | None = None
        self._step_started = self._started
        self._pauses = Pauses(self._started)
        self._waiting = Waiting(0)
        self._roles = StepProgress()
        self._ends = NodeEnds()
        self._lock = threading.RLock()
        self._ticker = Ticker(self.tick)

    def __enter__(self) -> Self:
        self._ticker.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ticker.stop()
        self.pause()

    def __call__(self, progress: Progress) -> None:
        """Print what is worth a line."""
        with self._lock:
            if isinstance(progress, TaskSeen):
                for ended in self._roles.add(progress.event, self._clock()):
                    self._line(f"{progress.step.value}: {ended.counts(self._clock())}")
            elif isinstance(progress, NodeMoved):
                if progress.step is Phase.DONE:
                    self._ends.add(progress)
            elif isinstance(progress, NodeQueried):
                self._waiting.follow(progress, self._clock())
            else:
                self._end_roles()
                self._print_ends()
                self._begin_or_note(progress)

    def output(self, text: str) -> None:
        """Ansible's own output, for -v."""
        with self._lock:
            sys.stderr.write(printable_lines(text) + "\n")
            self._pauses.restart(self._clock())

    def pause(self) -> None:
        """Print what is held back, and nothing more until the next step begins: a question may follow."""
        with self._lock:
            self._end_roles()
            self._print_ends()
            self._step = None

    def tick(self) -> None:
        """Print where the step stands, if there was no line for a while."""
        with self._lock:
            now = self._clock()
            if self._step is not None and self._pauses.over(now):
                self._print_ends()
                self._write(f"{self._step.step.value}: {self._standing(self._step, now)}", now)

    def _standing(self, step: PhaseStarted, now_s: float) -> str:
        role = self._roles.current
        if role:
            return role.counts(now_s) + (f", task: {role.task}" if role.task else "")
        queried = self._waiting.text(now_s) if self._waiting.since_s else ""
        return queried or f"{counted(len(step.nodes), 'node')}: {duration_text(now_s - self._step_started)}"

    def _begin_or_note(self, progress: PhaseStarted | Note) -> None:
        if isinstance(progress, PhaseStarted):
            self._step, self._step_started, self._waiting = progress, self._clock(), Waiting(len(progress.nodes))
            self._roles = StepProgress(frozenset(progress.roles))
            self._line(f"{progress.step.value}: {fold_names(progress.nodes)}" + (f" ({progress.detail})" if progress.detail else ""))
        else:
            self._line(progress.text)

    def _end_roles(self) -> None:
        for ended in self._roles.end():
            step = self._step.step.value if self._step else ""
            self._line(f"{step}: {ended.counts(self._clock())}")
        self._roles = StepProgress(self._roles.planned)

    def _print_ends(self) -> None:
        for line in self._ends.take():
            self._line(line)

    def _line(self, text: str) -> None:
        now = self._clock()
        self._pauses.restart(now)
        self._write(text, now)

    def _write(self, text: str, now_s: float) -> None:
        sys.stderr.write(f"[{now_s - self._started:4.0f}s] {printable(text)}\n")
        sys.stderr.flush()
