"""The agent is started by a command that ends at once and may be repeated: a broken connection repeats it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.agents import AgentNode, step, until
from support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable


def agent(node: AgentNode, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of the agent, as the role runs it: its output is read to the end, which a child that kept it open would delay."""
    argv = [sys.executable, "burnin_agent.py", *words]
    return subprocess.run(argv, cwd=node.folder, check=False, capture_output=True, text=True, timeout=30)


@pytest.mark.parametrize("times", [1, 2, 5])
def test_the_plan_is_carried_out_once_however_often_it_is_started(tmp_path: Path, times: int) -> None:
    node = AgentNode(tmp_path, "n1", free_port(), [step("s", ["sh", "-c", "echo ran >> count; sleep 1"])])
    for _ in range(times):
        done = agent(node, "start", ".")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert agent(node, "wait", ".", "20").returncode == 0
    assert (node.folder / "count").read_text() == "ran\n"
    assert node.records["s"].exit_status == 0
    assert len((node.folder / "records.jsonl").read_text().splitlines()) == 1


def test_an_agent_that_cannot_begin_says_why(tmp_path: Path) -> None:
    node = AgentNode(tmp_path, "n1", free_port(), [step("s", ["true"])])
    (node.folder / "plan.json").write_text("{")
    agent(node, "start", ".")
    done = agent(node, "wait", ".", "20")
    assert done.returncode == 1
    assert "the burn-in agent died: json.decoder.JSONDecodeError: Expecting property name" in done.stderr


def a_zombie(node: AgentNode) -> subprocess.Popen[bytes]:
    """An agent that has ended and that its parent has not reaped, as PID 1 of some containers never does."""
    process = subprocess.Popen([sys.executable, "burnin_agent.py", "run", "."], cwd=node.folder, stderr=subprocess.DEVNULL)
    until(lambda: Path("/proc", str(process.pid), "stat").read_text().rpartition(")")[2].split()[0] == "Z")
    return process


def its_number_again(node: AgentNode) -> subprocess.Popen[bytes]:
    """Another process has the number of an agent that has ended, as hours later."""
    process = subprocess.Popen(["sleep", "60"])
    (node.folder / "pid").symlink_to(str(process.pid))
    return process


@pytest.mark.parametrize("left", [a_zombie, its_number_again])
def test_an_agent_that_ended_is_not_at_work_whatever_proc_shows(
    tmp_path: Path, left: Callable[[AgentNode], subprocess.Popen[bytes]]
) -> None:
    node = AgentNode(tmp_path, "n1", free_port(), [step("s", ["true"])])
    (node.folder / "plan.json").write_text("{")
    process = left(node)
    try:
        assert Path("/proc", (node.folder / "pid").readlink()).exists()
        done = agent(node, "wait", ".", "1")
    finally:
        process.kill()
        process.wait()
    assert (done.returncode, "the burn-in agent died" in done.stderr) == (1, True)
