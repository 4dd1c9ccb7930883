"""The content of the live view of a provisioning run, updated from progress. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clusterctl.model.provision import NodeMoved, NodeQueried, Phase, PhaseStarted, TaskSeen
from clusterctl.model.state import State
from clusterctl.model.task_event import TaskStatus

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.model.provision import Progress
    from clusterctl.model.task_event import TaskEvent

# Share of the whole way, from measured lab runs; only the estimate of the time left depends on it.
_WEIGHTS: dict[Phase, float] = {Phase.CHECK: 5, Phase.APPLY: 45, Phase.REBOOT: 10, Phase.VERIFY: 5, Phase.BURN_IN: 33, Phase.ADMIT: 2}
_BEGUN = 0.1
_NEARLY = 0.95


@dataclass(slots=True)
class Row:
    """A node on the board. `done` and `total` are tasks of its current step."""

    node: str
    state: State | None = None
    step: Phase = Phase.CHECK
    role: str = ""
    task: str = ""
    changed: int = 0
    done: int = 0
    total: int = 0
    reason: str = ""
    ended: bool = False

    @property
    def failed(self) -> bool:
        """Whether it ended without being admitted."""
        return self.ended and bool(self.reason or self.state is not State.ADMITTED)

    @property
    def fraction(self) -> float:
        """Fraction of its steps that is done, 0 to 1."""
        if self.ended:
            return 1.0
        steps = list(_WEIGHTS)
        at = steps.index(self.step)
        inside = min(self.done / self.total, _NEARLY) if self.total else _BEGUN
        return (sum(_WEIGHTS[s] for s in steps[:at]) + _WEIGHTS[self.step] * inside) / sum(_WEIGHTS.values())

    @property
    def doing(self) -> str:
        """What happens on it now, or why it ended."""
        if self.ended:
            return self.reason
        words = [self.step.value, self.role, self.task]
        return ": ".join(w for w in words if w)


@dataclass(slots=True)
class Board:
    """All nodes of a run.

    Attributes:
        task_counts: role -> about how many tasks it has.
        planned: the roles that the present step applies; empty = any.
    """

    task_counts: Mapping[str, int] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)
    step: Phase = Phase.CHECK
    planned: tuple[str, ...] = ()

    @property
    def fraction(self) -> float:
        """Fraction of the run that is done, 0 to 1."""
        return sum(r.fraction for r in self.rows.values()) / len(self.rows) if self.rows else 0.0

    def eta_s(self, elapsed_s: float) -> float | None:
        """Estimated seconds left; None while too little is known."""
        done = self.fraction
        return elapsed_s * (1 - done) / done if done >= _BEGUN and elapsed_s >= 1 else None

    def update(self, progress: Progress) -> None:
        """Update the board from one progress event."""
        if isinstance(progress, PhaseStarted):
            self._start(progress)
        elif isinstance(progress, TaskSeen):
            self._task(self._row(progress.event.node), progress.event)
        elif isinstance(progress, NodeQueried):
            self._row(progress.node).task = "answered" if progress.answered else "waiting for its answer"
        elif isinstance(progress, NodeMoved):
            row = self._row(progress.node)
            row.state, row.ended = progress.state, progress.step is Phase.DONE
            row.reason = progress.reason
            if not row.ended:
                row.step, row.role, row.task = progress.step, "", ""

    def _row(self, node: str) -> Row:
        return self.rows.setdefault(node, Row(node))

    def _start(self, started: PhaseStarted) -> None:
        self.step, self.planned = started.step, started.roles
        for node in started.nodes:
            row = self._row(node)
            row.step, row.role, row.task, row.done = started.step, "", "", 0
            row.total = sum(self.task_counts.get(r, 0) for r in started.roles)

    def _task(self, row: Row, event: TaskEvent) -> None:
        if self.planned and event.role and event.role not in self.planned:
            return
        if event.status is TaskStatus.STARTED:
            row.role, row.task = event.role, event.task
        elif event.status is not TaskStatus.RETRY:
            row.done += 1
            row.changed += int(event.changed)


def visible_rows(rows: Sequence[Row], room: int) -> list[Row]:
    """The rows to show where only `room` fit: failures first, in at most half of the room while others are active; admitted nodes last."""
    if len(rows) <= room:
        return list(rows)
    failed = [r for r in rows if r.failed]
    active = [r for r in rows if not r.ended]
    kept = failed[: max(room // 2, room - len(active))]
    return (kept + active + [r for r in rows if r.ended and not r.failed] + failed[len(kept) :])[:room]
