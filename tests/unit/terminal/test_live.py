from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from clusterctl.model.provision import NodeMoved, Note, Phase, PhaseStarted, Progress, TaskSeen
from clusterctl.model.state import State
from clusterctl.model.task_event import TaskEvent, TaskStatus
from clusterctl.terminal import live
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

N1, N2 = "r12-n01", "r12-n02"
STORY: Sequence[Progress] = (
    PhaseStarted(Phase.CHECK, (N1, N2)),
    PhaseStarted(Phase.APPLY, (N1, N2), "kernel, nccl"),
    TaskSeen(Phase.APPLY, TaskEvent(N1, "kernel", "Write grub.cfg", TaskStatus.STARTED)),
    TaskSeen(Phase.APPLY, TaskEvent(N1, "kernel", "Write grub.cfg", TaskStatus.OK, changed=True)),
    Note("equivalent command: ansible-playbook provision.yml"),
    NodeMoved(N1, State.PROVISIONED, Phase.APPLY),
    NodeMoved(N2, State.QUARANTINED, Phase.APPLY, "role kernel: \x1b[2Jno"),
    NodeMoved(N2, State.QUARANTINED, Phase.DONE, "role kernel: \x1b[2Jno"),
)


def test_plain_lines_where_stderr_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with live.view({}) as view:
        for progress in STORY:
            view(progress)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert [re.sub(r"^\[ *\d+s\] ", "", line) for line in captured.err.splitlines()] == [
        "check: r12-n01, r12-n02",
        "apply: r12-n01, r12-n02 (kernel, nccl)",
        "apply: kernel on 1 node: 1 done, 1 changed, 0 s",
        "equivalent command: ansible-playbook provision.yml",
        "r12-n02 quarantined: role kernel: \\x1b[2Jno",
    ]


def drawn(height: int = 20, *, terminal: bool = True, nodes: int = 2) -> str:
    console = Console(file=io.StringIO(), width=100, height=height, force_terminal=terminal, color_system="standard" if terminal else None)
    view = live.LiveView({"kernel": 4}, console)
    for progress in STORY:
        view._board.update(progress)
    view._board.update(PhaseStarted(Phase.BURN_IN, tuple(f"r13-n{i:02d}" for i in range(nodes))))
    console.print(view.draw())
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def test_the_board_has_a_row_per_node_and_a_bar() -> None:
    text = re.sub(r"\x1b\[[0-9;]*m", "", drawn())
    assert re.search(r"◑ provisioned\s+r12-n01\s+apply\s+1 changed", text)
    assert re.search(r"✗ quarantined\s+r12-n02\s+role kernel", text)
    assert "1/4 nodes" in text
    assert "━" in text


def test_what_a_node_printed_cannot_clear_the_screen() -> None:
    assert "\x1b[2J" not in drawn()


def test_colour_only_where_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[1;31m" in drawn()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[0-9;]*3\dm", drawn(terminal=False))


def test_a_large_rack_fits_the_screen_and_says_what_is_hidden() -> None:
    text = drawn(height=20, nodes=72)
    assert len(text.splitlines()) <= 20
    assert "and 60 more" in text


def test_failures_stay_in_sight_when_the_nodes_overflow() -> None:
    console = Console(file=io.StringIO(), width=100, height=14, force_terminal=False)
    view = live.LiveView({}, console)
    names = tuple(f"r13-n{i:02d}" for i in range(72))
    view._board.update(PhaseStarted(Phase.APPLY, names))
    for name in ("r13-n40", "r13-n71"):
        view._board.update(NodeMoved(name, State.QUARANTINED, Phase.DONE, "role kernel: no"))
    console.print(view.draw())
    file = console.file
    assert isinstance(file, io.StringIO)
    lines = file.getvalue().splitlines()
    assert [line.split()[2] for line in lines[:3]] == ["r13-n40", "r13-n71", "r13-n00"]
    assert "and 64 more" in file.getvalue()


def test_the_nodes_that_share_a_reason_share_a_line_above_the_board() -> None:
    console = Console(file=io.StringIO(), width=100, force_terminal=False)
    with live.LiveView({}, console) as view:
        for name in (N1, N2):
            view(NodeMoved(name, State.QUARANTINED, Phase.DONE, "no power"))
    file = console.file
    assert isinstance(file, io.StringIO)
    assert file.getvalue().splitlines() == ["r12-n01, r12-n02 quarantined: no power"]


def test_the_board_steps_aside_for_a_question() -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True)
    with live.LiveView({}, console) as view:
        view(STORY[0])
        assert view._live.is_started
        view.pause()
        assert not view._live.is_started
        view(STORY[1])
        assert view._live.is_started
    assert not view._live.is_started


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (187.9, "3:07"), (3723, "1:02:03")])
def test_clock(seconds: float, text: str) -> None:
    assert live.clock(seconds) == text


def test_every_role_has_a_task_count() -> None:
    counts = live.task_counts([ROOT / "roles"])
    assert counts["kernel"] > 5
    own = sum(f.read_text().count("- name:") for f in (ROOT / "roles" / "nccl" / "tasks").glob("*.yml"))
    assert counts["nccl"] > own + 10, "the tasks of shared files count, too"
