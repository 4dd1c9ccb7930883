"""Progress of a provisioning run as plain lines on stderr, for logs: their number does not grow with the number of nodes that do well."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

from clusterctl.model.provision import NodeMoved, Note, Phase, PhaseStarted, TaskSeen
from clusterctl.terminal.names import duration_text, fold_names, node_count
from clusterctl.terminal.node_ends import NodeEnds
from clusterctl.terminal.role_progress import StepProgress
from clusterctl.terminal.states import printable, printable_lines

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from clusterctl.model.provision import Progress

# A log is never silent for longer than this while something runs; the pause doubles for as long as nothing else happens.
_FIRST_PAUSE_S = 30.0
_LONGEST_PAUSE_S = 300.0
_TICK_S = 1.0


class PlainView:
    """One line per step, one per role that ended in it, one per outcome; and a sign of life while a role or a step takes long."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self._step: PhaseStarted | None = None
        self._step_started = self._last_line = self._started
        self._pause_s = _FIRST_PAUSE_S
        self._roles = StepProgress()
        self._ends = NodeEnds()
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._ticker = threading.Thread(target=self._tick_until_closed, name="plain-progress", daemon=True)

    def __enter__(self) -> Self:
        self._ticker.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._closed.set()
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
            else:
                self._end_roles()
                self._print_ends()
                self._begin_or_note(progress)

    def output(self, text: str) -> None:
        """Ansible's own output, for -v."""
        with self._lock:
            sys.stderr.write(printable_lines(text) + "\n")
            self._last_line = self._clock()

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
            if self._step is None or now - self._last_line < self._pause_s:
                return
            self._print_ends()
            role = self._roles.current
            where = role.counts(now) if role else f"{node_count(len(self._step.nodes))}: {duration_text(now - self._step_started)}"
            self._line(f"{self._step.step.value}: {where}" + (f", at: {role.task}" if role and role.task else ""))
            self._pause_s = min(self._pause_s * 2, _LONGEST_PAUSE_S)

    def _begin_or_note(self, progress: PhaseStarted | Note) -> None:
        if isinstance(progress, PhaseStarted):
            self._step, self._step_started, self._pause_s = progress, self._clock(), _FIRST_PAUSE_S
            self._line(f"{progress.step.value}: {fold_names(progress.nodes)}" + (f" ({progress.detail})" if progress.detail else ""))
        else:
            self._line(progress.text)

    def _end_roles(self) -> None:
        for ended in self._roles.end():
            step = self._step.step.value if self._step else ""
            self._line(f"{step}: {ended.counts(self._clock())}")
        self._roles = StepProgress()

    def _print_ends(self) -> None:
        for line in self._ends.take():
            self._line(line)

    def _line(self, text: str) -> None:
        now = self._clock()
        sys.stderr.write(f"[{now - self._started:4.0f}s] {printable(text)}\n")
        sys.stderr.flush()
        self._last_line = now

    def _tick_until_closed(self) -> None:
        while not self._closed.wait(_TICK_S):
            try:
                self.tick()
            except OSError:  # stderr is gone; the main thread meets the same error with its next line and ends the run
                return
