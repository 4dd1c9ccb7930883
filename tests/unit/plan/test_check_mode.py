from __future__ import annotations

from typing import Any

import pytest

from clusterctl.core import check_mode
from clusterctl.core.check_mode import CheckMode
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.playbook_result import HostOutcome, HostStatus, PlaybookResult, PlaybookStatus, TaskFailure
from clusterctl.model.task_event import TaskEvent, TaskStatus
from clusterctl.terminal import plan as view

CHANGED = TaskEvent("n1", "hugepages", "Write the mounts", TaskStatus.OK, changed=True, diff="--- before\n+++ after\n+hugetlbfs\x1b[2J\n")
QUIET = TaskEvent("n1", "kernel", "Read", TaskStatus.OK)
STARTED = TaskEvent("n1", "kernel", "Write", TaskStatus.STARTED, changed=True)
FAILURE = TaskFailure("Install", "nccl", "no package")


def outcome(*hosts: HostOutcome, status: PlaybookStatus = PlaybookStatus.COMPLETED) -> PlaybookResult:
    return PlaybookResult(status, {h.node: h for h in hosts}, "ansible-playbook ...", 1.0)


OK = HostOutcome("n1", HostStatus.OK)
FAILED = HostOutcome("n2", HostStatus.FAILED, failures=(FAILURE,))
LOST = HostOutcome("n3", HostStatus.UNREACHABLE)


def collected(*events: TaskEvent) -> CheckMode:
    found = CheckMode()
    for event in events:
        found.add(event)
    return found


def test_only_changes_count() -> None:
    assert [(c.node, c.role, c.task) for c in collected(CHANGED, QUIET, STARTED).changes] == [("n1", "hugepages", "Write the mounts")]


def test_changes_of_tasks_with_no_log_count() -> None:
    run = outcome(HostOutcome("n1", HostStatus.OK, changed=3), HostOutcome("n2", HostStatus.OK, changed=1))
    found = collected(CHANGED, QUIET)
    found.add_hidden(run)
    assert [(c.node, c.role, c.task) for c in found.changes[1:]] == [("n1", "", "2 tasks with no_log"), ("n2", "", "1 task with no_log")]
    assert check_mode.check_mode_exit_code(found, run) is ExitCode.CHANGES_PENDING
    found = collected(CHANGED)
    found.add_hidden(outcome(HostOutcome("n1", HostStatus.OK, changed=1)))
    assert len(found.changes) == 1


@pytest.mark.parametrize(
    ("events", "run", "code"),
    [
        ([QUIET], outcome(OK), ExitCode.OK),
        ([CHANGED], outcome(OK), ExitCode.CHANGES_PENDING),
        ([CHANGED], outcome(OK, FAILED), ExitCode.ROLE_FAILED),
        ([CHANGED], outcome(OK, FAILED, LOST), ExitCode.UNREACHABLE),
        ([QUIET], outcome(HostOutcome("n1", HostStatus.NOT_PROCESSED)), ExitCode.ROLE_FAILED),
        ([CHANGED], outcome(OK, status=PlaybookStatus.TIMED_OUT), ExitCode.INTERRUPTED),
        ([], outcome(status=PlaybookStatus.COULD_NOT_START), ExitCode.CONFIG),
    ],
)
def test_exit_code(events: list[TaskEvent], run: PlaybookResult, code: ExitCode) -> None:
    assert check_mode.check_mode_exit_code(collected(*events), run) is code


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    view.show_check_mode(collected(CHANGED), outcome(OK, FAILED, LOST), {}, "table")
    assert capsys.readouterr().out == (
        "n1\n  ~ hugepages: Write the mounts\n      --- before\n      +++ after\n      +hugetlbfs\ufffd[2J\n\n"
        "n2\n  ! nccl: Install: no package\n\n"
        "n3\n  ! unreachable\n\n"
        "ansible-playbook ...\n"
        "Plan: 1 node, 1 role to change.\n"
    )


def test_json() -> None:
    data: dict[str, Any] = check_mode.check_mode_body(collected(CHANGED), outcome(OK, FAILED))
    assert data["nodes"][0]["changes"] == [{"role": "hugepages", "task": "Write the mounts", "diff": CHANGED.diff}]
    assert data["nodes"][1]["failures"] == [{"role": "nccl", "task": "Install", "message": "no package"}]
