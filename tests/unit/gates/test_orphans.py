"""What a command of a burn-in leaves behind ends with its batch, whatever session, environment and lock it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.agents import AgentNode, step
from support.ports import free_port


def _alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("ends", [True, False], ids=["it ended", "it was ended"])
def test_a_child_that_left_its_session_ends_before_the_next_batch(tmp_path: Path, ends: bool) -> None:
    """It has neither the session nor the lock nor the mark of the run."""
    child = f"env -i setsid --fork sh -c 'echo $$ > {tmp_path}/child; exec sleep 60' 3>&- > /dev/null 2>&1"
    first = step("first", ["sh", "-c", f"{child}; sleep {0.5 if ends else 30}"], timeout_s=10 if ends else 1)
    later = step("later", ["sh", "-c", f'kill -0 "$(cat {tmp_path}/child)"'], batch=1)
    found = AgentNode(tmp_path, "n1", free_port(), [first, later]).start().end()
    assert found["first"].exit_status == (0 if ends else None)
    assert found["later"].exit_status not in (0, None)
    assert not _alive(int((tmp_path / "child").read_text()))


def test_what_removes_the_container_of_a_command_may_finish(tmp_path: Path) -> None:
    """As the guard of roles/gpu_tools does, in a session of its own."""
    guard = f"setsid --fork sh -c 'sleep 1; touch {tmp_path}/removed' < /dev/null > /dev/null 2>&1"
    steps = [step("first", ["sh", "-c", f"{guard}; sleep 0.5"]), step("later", ["test", "-e", f"{tmp_path}/removed"], batch=1)]
    assert AgentNode(tmp_path, "n1", free_port(), steps).start().end()["later"].exit_status == 0
