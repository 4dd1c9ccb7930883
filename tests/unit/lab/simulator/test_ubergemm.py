"""The load of a simulated GPU, and what nvidia-smi shows meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.core.parsers import parse_output
from clusterctl_lab.simulator import gemm_load, nvidia_smi, state, ubergemm
from clusterctl_tools.nvidia_smi import load_argv, parse_load
from support.lab_machine import LabMachine, lab_machine

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl_tools.gpu import GpuUnderLoad


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabMachine:
    made = lab_machine(tmp_path, monkeypatch)
    made.gpu_stack()
    return made


def rows(capsys: pytest.CaptureFixture[str]) -> list[GpuUnderLoad]:
    capsys.readouterr()
    assert nvidia_smi.main(load_argv(), "580.126.20") == 0
    return parse_load(capsys.readouterr().out)


def test_it_prints_what_the_gate_reads(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    assert ubergemm.main(["ubergemm", "--adapters", "2", "--time_to_run", "1"], "") == 0
    text = capsys.readouterr().out
    assert "starting...." in text
    (sample,) = parse_output("ubergemm", text)
    assert sample.value == pytest.approx(769, rel=0.03)


def test_only_the_gpu_under_load_leaves_its_rest(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    with gemm_load.loaded(3):
        found = rows(capsys)
    assert [gpu.index for gpu in found if gpu.clock_mhz and gpu.clock_mhz > 1000] == [3]
    assert found[3].slowdowns == ()
    assert found[3].power_w == pytest.approx(693)
    assert all(gpu.clock_mhz == 345 for gpu in rows(capsys))


@pytest.mark.parametrize(("kind", "share", "slowed"), [("rate", 0.35, False), ("clock", 0.6, False), ("thermal", 0.5, True)])
def test_a_slow_gpu_is_slow_under_load_only(
    node: LabMachine, kind: str, share: float, slowed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    healthy = gemm_load.rate_gflops(5, state.Faults())
    faults = state.Faults((state.Fault("gpu_slow", "5", kind),))
    assert gemm_load.rate_gflops(5, faults) == pytest.approx(share * healthy, rel=0.01)
    assert gemm_load.rate_gflops(4, faults) == gemm_load.rate_gflops(4, state.Faults())
    assert gemm_load.now(5, faults) == gemm_load.now(5, state.Faults())
    assert bool(gemm_load.under_load(5, faults).reasons & gemm_load.HW_THERMAL) is slowed


def test_other_words_and_other_gpus_are_refused(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    assert ubergemm.main(["ubergemm", "-t", "1"], "") == 1
    assert ubergemm.main(["ubergemm", "--adapters", "8", "--time_to_run", "1"], "") == 1
    assert "no adapter 8" in capsys.readouterr().err
