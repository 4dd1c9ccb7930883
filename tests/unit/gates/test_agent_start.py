"""The agent is started by a command that ends at once and may be repeated: a broken connection repeats it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from support.agents import AgentNode, free_port, step

if TYPE_CHECKING:
    from pathlib import Path


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
