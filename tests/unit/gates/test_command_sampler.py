"""The agent runs a short command again and again while a step runs."""

from __future__ import annotations

import ast
import itertools
import os
import time
from typing import TYPE_CHECKING

from support.agents import FILES, AgentNode, program, step
from support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest

sampler = program("command_sampler")


def taken(argv: list[str], every_s: float, for_s: float) -> list[dict[str, object]]:
    running = sampler.CommandSampler(argv, every_s, dict(os.environ)).start()
    time.sleep(for_s)
    found: list[dict[str, object]] = running.end()
    return found


def test_a_sample_has_its_time_its_status_and_both_streams() -> None:
    first, *rest = taken(["sh", "-c", "echo out; echo err >&2; exit 3"], 0.2, 0.7)
    assert first["exit_status"] == 3
    assert str(first["stdout"]).split() == ["out", "err"]
    assert len(rest) >= 1
    assert float(str(rest[0]["at_s"])) >= 0.2


def test_a_command_that_is_missing_is_a_sample_without_a_status() -> None:
    found = taken(["/no/such/program"], 5, 0.2)
    assert [s["exit_status"] for s in found] == [None]
    assert "No such file" in str(found[0]["stdout"])


def test_a_command_that_hangs_is_ended_with_what_it_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler, "LIMIT_S", 0.3)
    found = taken(["sh", "-c", "sleep 60 & sleep 60"], 5, 0.1)
    assert [s["exit_status"] for s in found] == [None]
    assert float(str(found[0]["took_s"])) >= 0.3


def test_a_slow_command_is_not_run_twice_at_once() -> None:
    found = taken(["sleep", "0.5"], 0.1, 1.2)
    begun = [float(str(s["at_s"])) for s in found]
    assert all(later - earlier >= 0.5 for earlier, later in itertools.pairwise(begun))


def asked_alone(slow_s: float, seconds: Sequence[float], for_s: float) -> list[tuple[str, bool]]:
    """What was asked in which order, and whether it was slow, after a first command that took 0.4 s."""
    alone = [(f"gpu{i}", ["sleep", str(s)]) for i, s in enumerate(seconds)]
    running = sampler.CommandSampler(["sleep", "0.4"], 5, dict(os.environ), alone, slow_s).start()
    time.sleep(for_s)
    return [(s["device"], s["took_s"] >= slow_s) for s in running.end()]


def test_each_device_is_asked_once_after_a_slow_command() -> None:
    alone = [("gpu0", ["true"]), ("gpu1", ["true"])]
    running = sampler.CommandSampler(["sleep", "0.4"], 0.1, dict(os.environ), alone, 0.3).start()
    time.sleep(1.5)
    devices = [s["device"] for s in running.end()]
    assert devices[:4] == ["", "gpu0", "gpu1", ""]
    assert set(devices[4:]) <= {""}


def test_nobody_is_asked_after_a_quick_command() -> None:
    assert asked_alone(3, (0, 0), 0.8) == [("", False)]


def test_after_two_slow_devices_the_rest_is_not_waited_for() -> None:
    assert asked_alone(0.3, (0, 0.4, 0, 0.4, 0), 2.2) == [("", True), ("gpu0", False), ("gpu1", True), ("gpu2", False), ("gpu3", True)]


def test_who_was_not_asked_before_the_end_is_not_asked() -> None:
    assert asked_alone(0.3, (0.5, 0), 0.6) == [("", True), ("gpu0", True)]


def test_long_output_is_cut() -> None:
    (sample,) = taken(["sh", "-c", "head -c 100000 /dev/zero | tr '\\0' x"], 60, 0.5)
    assert len(str(sample["stdout"])) == sampler.KEPT_CHARACTERS


def test_the_agent_traces_only_where_the_step_says_so(tmp_path: Path) -> None:
    alone = [["gpu4", ["echo", "4"]]]
    steps = [
        step("traced", ["sleep", "1"], trace_argv=["echo", "7"], trace_s=0.2),
        step("slow", ["sleep", "1"], trace_argv=["sleep", "0.2"], trace_s=5, trace_alone=alone, trace_slow_s=0.1),
        step("plain", ["true"]),
    ]
    found = AgentNode(tmp_path, "n1", free_port(), steps).start().end()
    assert {s.stdout for s in found["traced"].trace} == {"7\n"}
    assert len(found["traced"].trace) >= 3
    assert found["plain"].trace == ()
    assert [(s.device, s.stdout) for s in found["slow"].trace] == [("", ""), ("gpu4", "4\n")]


def test_python_3_8() -> None:
    ast.parse((FILES / "command_sampler.py").read_text(encoding="utf-8"), feature_version=(3, 8))
