"""The phases of a run are recorded from its progress: when something was first and last heard of each node, however many tasks it has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters import clock
from clusterctl.adapters.phase_files import PHASES_FOLDER, read_phases
from clusterctl.adapters.run_directory import RunDir
from clusterctl.core import timestamps
from clusterctl.model.errors import StoreError
from clusterctl.model.provision import NodeMoved, NodeQueried, Note, Phase, PhaseStarted, TaskSeen
from clusterctl.model.state import State
from clusterctl.model.task_event import TaskEvent, TaskStatus
from clusterctl.workflows.provision.phase_clock import PhaseClock

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clusterctl.model.provision import Progress


@dataclass
class Seconds:
    """A clock that stands where it is put."""

    now: float = 100.0
    heard: list[Progress] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now


def task(step: Phase, node: str) -> TaskSeen:
    return TaskSeen(step, TaskEvent(node, "kernel", "Do it", TaskStatus.STARTED))


RUN: Sequence[tuple[float, Progress]] = (
    (100, Note("begins")),
    (101, PhaseStarted(Phase.CHECK, ("n1", "n2"))),
    (101, NodeQueried("n1", answered=False)),
    (103, NodeQueried("n1", answered=True)),
    (110, PhaseStarted(Phase.APPLY, ("n1", "n2"), "kernel", ("kernel",))),
    (111, task(Phase.APPLY, "n1")),
    (112, task(Phase.APPLY, "n2")),
    (150, task(Phase.APPLY, "n1")),
    (190, task(Phase.APPLY, "n2")),
    (191, NodeMoved("n1", State.PROVISIONED, Phase.APPLY)),
    (200, PhaseStarted(Phase.VERIFY, ("n1", "n2"), "after the load")),
    (210, PhaseStarted(Phase.ADMIT, ("n1",))),
    (211, NodeMoved("n1", State.BURNED_IN, Phase.ADMIT)),
    (212, NodeMoved("n1", State.ADMITTED, Phase.ADMIT)),
)


def played(rundir: RunDir, until: float = 1000.0, error: BaseException | None = None) -> Seconds:
    seconds = Seconds()
    with PhaseClock(rundir, seconds) as phases:
        notify = phases.following(seconds.heard.append)
        for at, progress in RUN:
            if at <= until:
                seconds.now = at
                notify(progress)
        if error:
            raise error
    return seconds


def test_each_phase_has_the_first_and_last_that_was_heard_of_each_node(tmp_path: Path) -> None:
    rundir = RunDir.create(tmp_path, "provision")
    heard = played(rundir).heard
    assert heard == [progress for _, progress in RUN]
    phases = read_phases(rundir.path)
    assert [(p.phase, p.nodes, p.is_over) for p in phases] == [
        ("check", ("n1", "n2"), True),
        ("apply", ("n1", "n2"), True),
        ("verify after the load", ("n1", "n2"), True),
        ("admit", ("n1",), True),
    ]
    assert [dict(p.spans) for p in phases] == [{"n1": (0, 2)}, {"n1": (1, 40), "n2": (2, 80)}, {}, {"n1": (1, 2)}]
    assert phases[1].began_at == timestamps.after(phases[0].began_at, 9)


def test_a_clock_that_is_set_back_puts_no_phase_before_the_one_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter(["2026-03-14T09:00:00.000000Z", *["2026-03-14T07:00:00.000000Z"] * 9])
    monkeypatch.setattr(clock, "now", lambda: next(moments))
    rundir = RunDir.create(tmp_path, "provision")
    played(rundir)
    began = [p.began_at for p in read_phases(rundir.path)]
    assert began == sorted(began)
    assert began[0] == "2026-03-14T09:00:01.000000Z"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), StoreError(path="db", detail="gone", hint="")], ids=lambda e: type(e).__name__)
def test_a_run_that_is_cut_off_in_a_phase_has_no_end_of_it(tmp_path: Path, error: BaseException) -> None:
    rundir = RunDir.create(tmp_path, "provision")
    with pytest.raises(type(error)):
        played(rundir, until=150, error=error)
    check, apply = read_phases(rundir.path)
    assert (check.is_over, apply.is_over) == (True, False)
    assert dict(apply.spans) == {"n1": (1, 40), "n2": (2, 2)}


def test_a_file_that_is_written_is_never_written_again(tmp_path: Path) -> None:
    """An admission records the digests of the files of its run."""
    rundir = RunDir.create(tmp_path, "provision")
    seconds, seen = Seconds(), dict[str, str]()
    with PhaseClock(rundir, seconds) as phases:
        notify = phases.following(seconds.heard.append)
        for seconds.now, progress in RUN:
            notify(progress)
            now = rundir.digests(PHASES_FOLDER) if (rundir.path / PHASES_FOLDER).is_dir() else {}
            assert {name: now[name] for name in seen} == seen
            seen = now
    assert len(seen) == 2 * 4 - 1
    assert {name: rundir.digests(PHASES_FOLDER)[name] for name in seen} == seen


def test_a_full_disk_is_reported_where_evidence_is_written_and_not_here(tmp_path: Path) -> None:
    rundir = RunDir.create(tmp_path, "provision")
    (rundir.path / PHASES_FOLDER).write_text("no folder")
    assert played(rundir).heard == [progress for _, progress in RUN]


def test_a_run_that_plans_only_writes_nothing(tmp_path: Path) -> None:
    rundir = RunDir.create(tmp_path, "provision")
    with PhaseClock(rundir) as phases:
        phases.following(lambda _: None)(Note("nothing to do"))
    assert rundir.files() == ()
