from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clusterctl.model.provision import NodeMoved, NodeQueried, Note, Phase, PhaseStarted, Progress, TaskSeen
from clusterctl.model.state import State
from clusterctl.model.task_event import TaskEvent, TaskStatus
from clusterctl.terminal.board import Board

NODES = ("r12-n01", "r12-n02")


def task(node: str, status: TaskStatus, *, changed: bool = False) -> TaskSeen:
    return TaskSeen(Phase.APPLY, TaskEvent(node, "kernel", "Write grub.cfg", status, changed=changed))


def test_a_row_follows_its_node() -> None:
    board = Board({"kernel": 4})
    board.update(PhaseStarted(Phase.APPLY, NODES, "kernel", ("kernel",)))
    board.update(task("r12-n01", TaskStatus.STARTED))
    board.update(TaskSeen(Phase.APPLY, TaskEvent("r12-n01", "nccl", "Validate arguments", TaskStatus.STARTED)))
    board.update(task("r12-n01", TaskStatus.OK, changed=True))
    row = board.rows["r12-n01"]
    assert (row.doing, row.changed, row.done, row.total) == ("apply: kernel: Write grub.cfg", 1, 1, 4)
    board.update(NodeMoved("r12-n01", State.QUARANTINED, Phase.DONE, "role kernel: no"))
    assert (row.ended, row.doing, row.fraction) == (True, "role kernel: no", 1.0)


def test_a_row_shows_whether_its_node_has_answered() -> None:
    board = Board()
    board.update(PhaseStarted(Phase.CHECK, NODES))
    for node in NODES:
        board.update(NodeQueried(node, answered=False))
    board.update(NodeQueried("r12-n02", answered=True))
    assert [r.doing for r in board.rows.values()] == ["check: waiting for its answer", "check: answered"]


def test_nothing_is_said_of_the_time_left_before_enough_is_known() -> None:
    board = Board()
    assert board.eta_s(10) is None
    board.update(PhaseStarted(Phase.CHECK, NODES))
    assert board.eta_s(10) is None
    board.update(PhaseStarted(Phase.BURN_IN, NODES))
    left = board.eta_s(60)
    assert left is not None
    assert 10 < left < 60


STEPS = st.sampled_from([s for s in Phase if s is not Phase.DONE])
PROGRESS: st.SearchStrategy[Progress] = st.one_of(
    st.builds(PhaseStarted, STEPS, st.just(NODES), st.sampled_from(["", "kernel", "kernel, nccl"])),
    st.builds(NodeMoved, st.sampled_from(NODES), st.sampled_from(State), st.sampled_from(Phase), st.text(max_size=5)),
    st.builds(task, st.sampled_from(NODES), st.sampled_from(TaskStatus), changed=st.booleans()),
    st.builds(Note, st.text(max_size=5)),
)


@given(st.lists(PROGRESS, max_size=40))
def test_progress_stays_between_nothing_and_all(events: list[Progress]) -> None:
    board = Board({"kernel": 2})
    for event in events:
        board.update(event)
        assert 0 <= board.fraction <= 1
        left = board.eta_s(30)
        assert left is None or left >= 0
