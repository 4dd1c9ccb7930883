"""A node that reboots while it is measured: its agent is gone, its finished records are not, and the rest says what happened."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.raw_records import read_records
from clusterctl.model.gate_reason import GateReason
from support.agents import FILES, AgentNode, program, sleeper, sleepers, step, until
from support.ports import free_port

if TYPE_CHECKING:
    from pathlib import Path

OLD_BOOT = "00000000-0000-4000-8000-000000000000"
records = program("step_records")


def cut_off(folder: Path) -> AgentNode:
    """A node whose first step is done and whose second one was ended with the agent."""
    word = f"reboot-{os.getpid()}"
    node = AgentNode(
        folder, "n1", free_port(), [step("first", ["true"]), step("second", sleeper(word), batch=1), step("third", ["true"], batch=2)]
    )
    node.start()
    until(lambda: bool(sleepers(word)))
    node.kill()
    for pid in sleepers(word):
        os.kill(pid, 9)
    return node


def wait(node: AgentNode, seconds: int = 5) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "burnin_agent.py", "wait", ".", str(seconds)]
    return subprocess.run(argv, cwd=node.folder, check=False, capture_output=True, text=True, timeout=60)


def test_what_a_reboot_cut_off_is_told(tmp_path: Path) -> None:
    node = cut_off(tmp_path)
    (node.folder / "boot_id").write_text(f"{OLD_BOOT}\n")
    with (node.folder / "records.jsonl").open("a") as file:
        file.write('{"gate": "g", "step": "sec')  # the last line was being written
    done = wait(node)
    assert done.returncode == 1
    assert f"the node rebooted during the measurement: boot {OLD_BOOT}, then " in done.stderr
    found = node.records
    assert (found["first"].exit_status, found["first"].error_code) == (0, None)
    for name in ("second", "third"):
        assert (found[name].exit_status, found[name].error_code) == (None, GateReason.REBOOTED)
        assert found[name].argv == tuple(json.loads((node.folder / "plan.json").read_text())["steps"][1 if name == "second" else 2]["argv"])
    before = (node.folder / "records.jsonl").read_text()
    assert wait(node).returncode == 1
    assert (node.folder / "records.jsonl").read_text() == before


def test_an_agent_that_died_in_the_same_boot_did_not_reboot(tmp_path: Path) -> None:
    node = cut_off(tmp_path)
    done = wait(node)
    assert (done.returncode, done.stderr) == (1, "the burn-in agent died; the records of finished steps are kept\n")
    assert list(node.records) == ["first"]


def test_an_agent_whose_start_was_cut_off_is_started_by_the_wait(tmp_path: Path) -> None:
    node = AgentNode(tmp_path, "n1", free_port(), [step("first", ["true"])])
    assert wait(node, 30).returncode == 0
    assert node.records["first"].exit_status == 0


def test_a_wait_starts_no_second_agent(tmp_path: Path) -> None:
    node = AgentNode(tmp_path, "n1", free_port(), [step("only", ["sh", "-c", "echo ran >> times; sleep 2"])]).start()
    assert wait(node, 30).returncode == 0
    node.end()
    assert (node.folder / "times").read_text() == "ran\n"


def test_an_agent_that_cannot_start_is_not_waited_for(tmp_path: Path) -> None:
    node = AgentNode(tmp_path, "n1", free_port(), [step("first", ["true"])])
    (node.folder / "waiting").touch()
    os.utime(node.folder / "plan.json", (time.time() - 3000,) * 2)  # copied to many nodes, one after another
    first = wait(node, 1)
    assert (first.returncode, first.stderr) == (3, "the burn-in agent did not finish within 1 s\n")
    os.utime(node.folder / "waiting", (time.time() - 300,) * 2)
    later = wait(node, 1)
    assert (later.returncode, "never started: did the node reboot?" in later.stderr) == (1, True)


def test_an_agent_that_is_killed_as_it_begins_did_not_reboot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(_fd: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(records.os, "fsync", killed)
    with pytest.raises(KeyboardInterrupt):
        records.note_boot(tmp_path)
    assert records.rebooted(tmp_path) == ""


def test_a_reboot_after_the_end_changes_nothing(tmp_path: Path) -> None:
    node = AgentNode(tmp_path, "n1", free_port(), [step("only", ["true"])])
    node.start().end()
    (node.folder / "boot_id").write_text(OLD_BOOT)
    assert wait(node).returncode == 0
    assert node.records["only"].error_code is None


def test_an_agent_at_work_is_told_from_one_that_is_gone(tmp_path: Path) -> None:
    node = AgentNode(tmp_path, "n1", free_port(), [step("only", ["sleep", "3"])]).start()
    until((node.folder / "pid").is_symlink)
    assert wait(node, 0).returncode == 3
    assert node.end()["only"].exit_status == 0


def test_a_node_that_lost_power_before_anything_was_written_has_all_its_records(tmp_path: Path) -> None:
    (tmp_path / "boot_id").write_text("")  # as a file is after a crash
    plan = {"node": "n1", "steps": [step("one", ["true"]), step("two", ["true"])]}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    assert "boot unknown, then" in records.rebooted(tmp_path)
    found = read_records((tmp_path / "records.jsonl").read_text())
    assert [(r.step, r.error_code) for r in found] == [("one", GateReason.REBOOTED), ("two", GateReason.REBOOTED)]


@pytest.mark.parametrize("name", ["burnin_agent.py", "step_records.py"])
def test_python_3_8(name: str) -> None:
    ast.parse((FILES / name).read_text(encoding="utf-8"), feature_version=(3, 8))
