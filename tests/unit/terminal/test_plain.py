from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from clusterctl.model.provision import NodeMoved, NodeQueried, Note, Phase, PhaseStarted, Progress, TaskSeen
from clusterctl.model.state import State
from clusterctl.model.task_event import TaskEvent, TaskStatus
from clusterctl.terminal.plain import PlainView

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SIX = tuple(f"r12-n{i:02d}" for i in range(1, 7))
MANY = tuple(f"r13-n{i:02d}" for i in range(72))


@dataclass
class Log:
    """A view, its lines without the time, and its clock."""

    capsys: pytest.CaptureFixture[str]
    now_s: float = 0.0
    view: PlainView = field(init=False)

    def __post_init__(self) -> None:
        self.view = PlainView(lambda: self.now_s)

    def feed(self, *story: Progress) -> list[str]:
        for progress in story:
            self.view(progress)
        return self.lines()

    def lines(self) -> list[str]:
        captured = self.capsys.readouterr()
        assert captured.out == ""
        return [re.sub(r"^\[ *\d+s\] ", "", line) for line in captured.err.splitlines()]


@pytest.fixture
def log(capsys: pytest.CaptureFixture[str]) -> Iterator[Log]:
    made = Log(capsys)
    with made.view:
        yield made


def seen(
    node: str, role: str, status: TaskStatus = TaskStatus.OK, *, changed: bool = False, task: str = "a", ignored: bool = False
) -> TaskSeen:
    return TaskSeen(Phase.APPLY, TaskEvent(node, role, task, status, changed=changed, ignored=ignored))


def role(name: str, nodes: Sequence[str], changed: int = 0) -> list[Progress]:
    """Two tasks of a role on every node, the second of which changes the first `changed` nodes."""
    started = [seen(n, name, TaskStatus.STARTED) for n in nodes]
    return [*started, *(seen(n, name) for n in nodes), *(seen(n, name, changed=i < changed) for i, n in enumerate(nodes))]


@pytest.mark.parametrize("nodes", [SIX, MANY])
def test_a_role_takes_one_line_when_it_has_ended_however_many_nodes_there_are(log: Log, nodes: tuple[str, ...]) -> None:
    count = len(nodes)
    story = (PhaseStarted(Phase.APPLY, nodes, "kernel, nccl"), *role("kernel", nodes, 4), *role("nccl", nodes), Note("ansible-playbook"))
    assert log.feed(*story)[1:] == [
        f"apply: kernel on {count} nodes: {count} done, 4 changed, 0 s",
        f"apply: nccl on {count} nodes: {count} done, 0 s",
        "ansible-playbook",
    ]


def test_the_time_of_a_role_is_that_from_its_first_task_to_its_end(log: Log) -> None:
    log.feed(PhaseStarted(Phase.APPLY, SIX), *role("kernel", SIX))
    log.now_s = 187
    assert log.feed(*role("nccl", SIX)) == ["apply: kernel on 6 nodes: 6 done, 3 min 07 s"]


def test_a_node_that_fails_is_counted_and_later_named_with_the_reason(log: Log) -> None:
    log.feed(PhaseStarted(Phase.APPLY, SIX))
    bad = SIX[2]
    story = [*role("kernel", SIX), seen(bad, "kernel", TaskStatus.FAILED), *role("nccl", [n for n in SIX if n != bad]), Note("x")]
    end = NodeMoved(bad, State.QUARANTINED, Phase.DONE, "role kernel: a: no")
    assert log.feed(*story, end, PhaseStarted(Phase.VERIFY, SIX[:2])) == [
        "apply: kernel on 6 nodes: 5 done, 1 failed, 0 s",
        "apply: nccl on 5 nodes: 5 done, 0 s",
        "x",
        "r12-n03 quarantined: role kernel: a: no",
        "verify: r12-n01, r12-n02",
    ]


def test_a_failure_that_is_ignored_does_not_count(log: Log) -> None:
    log.feed(PhaseStarted(Phase.APPLY, SIX[:2]), seen(SIX[0], "kernel", TaskStatus.FAILED, ignored=True), seen(SIX[1], "kernel"))
    assert log.feed(*role("nccl", SIX[:2])) == ["apply: kernel on 2 nodes: 2 done, 0 s"]


def test_a_role_that_every_node_skips_takes_no_line(log: Log) -> None:
    skipped = [seen(n, "roce", s) for n in SIX for s in (TaskStatus.STARTED, TaskStatus.SKIPPED)]
    assert log.feed(PhaseStarted(Phase.APPLY, SIX), *skipped, *role("nccl", SIX), Note("x"))[1:] == [
        "apply: nccl on 6 nodes: 6 done, 0 s",
        "x",
    ]


def test_a_role_of_which_only_the_arguments_are_checked_takes_no_line(log: Log) -> None:
    checks = [
        TaskSeen(Phase.APPLY, TaskEvent(n, "cuda", "Validating arguments", TaskStatus.OK, action="ansible.builtin.validate_argument_spec"))
        for n in SIX
    ]
    assert log.feed(PhaseStarted(Phase.APPLY, SIX), *checks, *role("nccl", SIX), Note("x"))[1:] == [
        "apply: nccl on 6 nodes: 6 done, 0 s",
        "x",
    ]


def test_a_role_that_some_nodes_skip_counts_the_others(log: Log) -> None:
    log.feed(PhaseStarted(Phase.APPLY, SIX), *(seen(n, "roce", TaskStatus.SKIPPED) for n in SIX[:2]), *role("roce", SIX[2:]))
    assert log.feed(Note("x")) == ["apply: roce on 4 nodes: 4 done, 0 s", "x"]


def test_handlers_at_the_end_take_a_line_only_where_they_changed_something(log: Log) -> None:
    log.feed(PhaseStarted(Phase.APPLY, SIX), *role("kernel", SIX), *role("nccl", SIX))
    assert log.feed(*(seen(n, "kernel") for n in SIX), Note("x"))[1:] == ["x"]
    log.feed(PhaseStarted(Phase.APPLY, SIX), *role("kernel", SIX), *role("nccl", SIX))
    assert log.feed(*(seen(n, "kernel", changed=True) for n in SIX[:2]), Note("x"))[1:] == [
        "apply: kernel on 2 nodes: 2 done, 2 changed, 0 s",
        "x",
    ]


def test_a_role_that_runs_in_a_later_step_again_is_reported_again(log: Log) -> None:
    again: list[Progress] = [PhaseStarted(Phase.APPLY, SIX), *role("kernel", SIX), Note("x")]
    assert log.feed(*again, *again).count("apply: kernel on 6 nodes: 6 done, 0 s") == 2


def test_nodes_that_end_alike_share_a_line_and_failing_ones_are_all_named(log: Log) -> None:
    story = [NodeMoved(n, State.ADMITTED, Phase.DONE) for n in MANY[:60]]
    story += [NodeMoved(n, State.QUARANTINED, Phase.DONE, "no power") for n in MANY[60:]]
    log.feed(PhaseStarted(Phase.ADMIT, MANY), *story)
    log.view.pause()
    assert log.lines() == [
        "60 nodes (r13-n00, r13-n01, r13-n02, r13-n03, ...) admitted",
        f"{', '.join(MANY[60:])} quarantined: no power",
    ]


def test_a_state_on_the_way_takes_no_line(log: Log) -> None:
    log.feed(NodeMoved(SIX[0], State.PROVISIONED, Phase.APPLY))
    log.view.pause()
    assert log.lines() == []


def test_a_role_that_takes_long_prints_progress_lines_less_and_less_often(log: Log) -> None:
    log.feed(PhaseStarted(Phase.APPLY, SIX), *role("ofed", SIX)[:8], seen(SIX[0], "ofed", TaskStatus.STARTED, task="Install the stack"))
    told: list[float] = []
    for second in range(1, 3601):
        log.now_s = second
        log.view.tick()
        if lines := log.lines():
            told.append(second)
            assert lines[0].startswith("apply: ofed on 6 nodes: ")
            assert lines[0].endswith(", task: Install the stack")
    assert told[:5] == [30, 90, 210, 450, 750]
    assert max(b - a for a, b in pairwise(told)) == 300


def test_a_step_without_roles_prints_progress_lines_too(log: Log) -> None:
    log.feed(PhaseStarted(Phase.VERIFY, SIX))
    log.now_s = 29
    log.view.tick()
    assert log.lines() == []
    log.now_s = 31
    log.view.tick()
    assert log.lines() == ["verify: 6 nodes: 31 s"]


def test_a_check_that_takes_long_names_the_nodes_that_have_not_answered(log: Log) -> None:
    log.feed(
        PhaseStarted(Phase.CHECK, SIX), *(NodeQueried(n, answered=False) for n in SIX), *(NodeQueried(n, answered=True) for n in SIX[1:])
    )
    log.now_s = 35
    log.view.tick()
    assert log.lines() == ["check: 5 of 6 nodes answered, waiting for r12-n01 (35 s)"]


def test_a_node_that_was_just_queried_again_leaves_no_line_empty(log: Log) -> None:
    log.feed(PhaseStarted(Phase.CHECK, SIX[:1]), NodeQueried(SIX[0], answered=False), NodeQueried(SIX[0], answered=True))
    log.now_s = 34
    log.feed(NodeQueried(SIX[0], answered=False))
    log.now_s = 35
    log.view.tick()
    assert log.lines() == ["check: 1 node: 35 s"]


def test_any_other_line_shortens_the_pause_again(log: Log) -> None:
    log.feed(PhaseStarted(Phase.APPLY, SIX), *role("ofed", SIX))
    for log.now_s in (30, 90):
        log.view.tick()
    assert len(log.lines()) == 2
    assert len(log.feed(*role("nccl", SIX))) == 1
    log.now_s = 120
    log.view.tick()
    assert log.lines() == ["apply: nccl on 6 nodes: 30 s, task: a"]


def test_nothing_is_printed_while_a_question_waits(log: Log) -> None:
    log.feed(PhaseStarted(Phase.CHECK, SIX))
    log.view.pause()
    log.now_s = 1000
    log.view.tick()
    assert log.lines() == []


def test_what_a_node_printed_cannot_move_the_cursor(log: Log) -> None:
    log.feed(PhaseStarted(Phase.APPLY, SIX[:1]))
    log.view.output("TASK [a]\n\x1b[2Jok")
    assert log.lines() == ["TASK [a]", "\\x1b[2Jok"]


def test_a_role_that_was_not_planned_is_not_in_the_log(log: Log) -> None:
    log.feed(PhaseStarted(Phase.APPLY, SIX, "kernel", ("kernel",)), *role("hardware", SIX))
    log.now_s = 100
    log.view.tick()
    assert not any("hardware" in line for line in log.feed(*role("kernel", SIX), Note("end")))
