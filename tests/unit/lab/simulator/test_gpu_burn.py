"""What the simulated gpu_burn prints is what the gate reads; a GPU that cannot begin, and one that computes wrong results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.core.parsers import parse_output
from clusterctl_lab.simulator import gpu_burn, gpus, state
from clusterctl_tools.gpu_burn import EXIT_ALL_DIED, burn_argv, read_burn
from support.lab_machine import LabMachine, lab_machine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabMachine:
    made = lab_machine(tmp_path, monkeypatch)
    made.gpu_stack()
    return made


@pytest.fixture
def compare(tmp_path: Path) -> str:
    path = tmp_path / "compare.fatbin"
    path.touch()
    return str(path)


def words(gpu: int, compare: str) -> list[str]:
    """Without `env` and its variable."""
    return list(burn_argv(gpu, 1, end_s=0, compare=compare))[2:]


def test_it_prints_what_the_gate_reads(node: LabMachine, compare: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu_burn.main(words(2, compare), "") == 0
    text = capsys.readouterr().out
    values = {s.metric: s.value for s in parse_output("gpu_burn", text)}
    assert values["results"] == 1
    assert values["errors"] == 0
    assert values["multiplications"] > 100
    assert read_burn(text).at_once == 284


def test_a_gpu_that_computes_wrong_results_ends_with_0(
    node: LabMachine, compare: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(state, "read_faults", lambda: state.Faults((state.Fault("gpu_wrong_results", "5"),)))
    assert [gpu_burn.main(words(gpu, compare), "") for gpu in (4, 5)] == [0, 0]
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines() if "GPU 0:" in line] == ["OK", "FAULTY"]


def test_without_its_comparison_or_fabric_it_cannot_begin(
    node: LabMachine, compare: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gpu_burn.main(words(1, "/nonexistent/compare.fatbin"), "") == EXIT_ALL_DIED
    out = capsys.readouterr()
    assert read_burn(out.out, out.err).cause.startswith("Couldn't init a GPU test: Error in couldn't find compare kernel: /nonexistent")

    def not_up(_views: object) -> None:
        raise gpus.NoDriverError("system not yet initialized", 1)

    monkeypatch.setattr(gpus, "require_fabric", not_up)
    assert gpu_burn.main(words(1, compare), "") == EXIT_ALL_DIED
    assert "system not yet initialized" in capsys.readouterr().err


def test_other_words_and_other_gpus_are_refused(node: LabMachine, compare: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu_burn.main(["gpu_burn", "-d", "60"], "") == 1
    assert gpu_burn.main(words(8, compare), "") == EXIT_ALL_DIED
    assert "invalid device ordinal" in capsys.readouterr().err
    assert gpu_burn.main(["gpu_burn", "-h"], "") == 0
    assert capsys.readouterr().out.startswith("GPU Burn\n")
