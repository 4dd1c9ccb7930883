"""The agent runs a short command again and again while a step runs."""

from __future__ import annotations

import ast
import itertools
import os
import time
from typing import TYPE_CHECKING

from support.agents import FILES, AgentNode, free_port, program, step

if TYPE_CHECKING:
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


def test_long_output_is_cut() -> None:
    (sample,) = taken(["sh", "-c", "head -c 100000 /dev/zero | tr '\\0' x"], 60, 0.5)
    assert len(str(sample["stdout"])) == sampler.KEPT_CHARACTERS


def test_the_agent_traces_only_where_the_step_says_so(tmp_path: Path) -> None:
    steps = [step("traced", ["sleep", "1"], trace_argv=["echo", "7"], trace_s=0.2), step("plain", ["true"])]
    found = AgentNode(tmp_path, "n1", free_port(), steps).start().end()
    assert {s.stdout for s in found["traced"].trace} == {"7\n"}
    assert len(found["traced"].trace) >= 3
    assert found["plain"].trace == ()


def test_python_3_8() -> None:
    ast.parse((FILES / "command_sampler.py").read_text(encoding="utf-8"), feature_version=(3, 8))
