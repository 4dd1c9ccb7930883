"""Records when each phase of a run began and ended on each node, from the progress that the run reports anyway."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from clusterctl.adapters import clock
from clusterctl.adapters.phase_files import write_begin, write_end
from clusterctl.core import timestamps
from clusterctl.model.errors import StoreError
from clusterctl.model.provision import NodeMoved, NodeQueried, Phase, PhaseStarted, TaskSeen

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from clusterctl.adapters.run_directory import RunDir
    from clusterctl.model.provision import Progress

_AFTER_LOAD = "after the load"


class PhaseClock:
    """A context manager; `following` puts it in front of a listener. One pair of times for each node and phase, however many tasks there are."""

    def __init__(self, rundir: RunDir, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._rundir, self._monotonic = rundir, monotonic
        # One reading of the wall clock: a clock that is set while the run goes on puts no phase before the one before it.
        self._began_at, self._began_s = clock.now(), monotonic()
        self._number = 0
        self._phase: Phase | None = None
        self._phase_s = 0.0
        self._spans: dict[str, tuple[float, float]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end(is_over=kind is None)

    def following(self, notify: Callable[[Progress], None]) -> Callable[[Progress], None]:
        """`notify`, and the times of what it receives."""

        def both(progress: Progress) -> None:
            self._see(progress)
            notify(progress)

        return both

    def _see(self, progress: Progress) -> None:
        if isinstance(progress, PhaseStarted):
            self._end(is_over=True)
            self._begin(progress)
        elif isinstance(progress, TaskSeen):
            self._touch(progress.event.node)
        elif isinstance(progress, NodeQueried) or (isinstance(progress, NodeMoved) and self._phase is Phase.ADMIT):
            # Nodes of another phase move together when the last of them is through.
            self._touch(progress.node)

    def _touch(self, node: str) -> None:
        now = self._monotonic() - self._phase_s
        self._spans[node] = (self._spans.get(node, (now, now))[0], now)

    def _begin(self, started: PhaseStarted) -> None:
        self._number += 1
        self._phase, self._phase_s, self._spans = started.step, self._monotonic(), {}
        name = f"{started.step.value} {_AFTER_LOAD}" if started.detail == _AFTER_LOAD else started.step.value
        began_at = timestamps.after(self._began_at, self._phase_s - self._began_s)
        # Times are for people: a full disk ends the run where evidence is written.
        with suppress(StoreError):
            write_begin(self._rundir, self._number, name, began_at, started.nodes)

    def _end(self, *, is_over: bool) -> None:
        if self._phase is not None:
            self._phase = None
            with suppress(StoreError):
                write_end(self._rundir, self._number, self._spans, is_over=is_over)
