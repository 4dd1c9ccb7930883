"""A program that does not find the driver's libraries on the host has measured nothing, whichever gate it is.

Sources: what glibc's loader prints (dl-load.c, rtld.c); cudaErrorInsufficientDriver as nccl-tests and CUDA's samples print it;
torch/csrc/cuda/utils.cpp of PyTorch; dcgm_structs.h of NVIDIA/DCGM (DCGM_ST_NVML_NOT_LOADED), seen in issues of NVIDIA/dcgm-exporter.
"""

from __future__ import annotations

from typing import Any

import pytest

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.judging.missing_evidence import hint_for
from clusterctl.core.gates.judging.reading import read_record
from clusterctl.core.gates.registry import all_gates
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_reason import NOT_MEASURED, GateReason
from clusterctl.model.gate_result import Outcome
from clusterctl.model.level import LEVELS
from support.gates import SOURCE, TODAY, gates, node, record

LOADER = "{tool}: error while loading shared libraries: {library}: cannot open shared object file: No such file or directory"
TEXTS = [
    LOADER.format(tool="nvbandwidth", library="libcuda.so.1"),
    LOADER.format(tool="nvbandwidth", library="libnvidia-ml.so.1"),
    "r12-n01: Test CUDA failure common.cu:1028 'CUDA driver version is insufficient for CUDA runtime version'",
    "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU",
    "Error: Cannot perform the requested operation because NVML doesn't exist on this system.",
]


@pytest.mark.parametrize("gate", all_gates(), ids=lambda g: g.name)
@pytest.mark.parametrize("text", TEXTS)
def test_no_gate_takes_it_for_a_measurement(gate: Any, text: str) -> None:
    for streams in ({"stdout": "", "stderr": text}, {"stdout": text, "stderr": ""}):
        reading = read_record(gate, record(gate.name, "r12-n01", exit_status=127, **streams))
        assert (reading.samples, reading.rule, reading.reason) == ((), "exit_status", GateReason.DRIVER_LIBRARY)
    assert GateReason.DRIVER_LIBRARY in NOT_MEASURED
    assert "owned-elsewhere" in hint_for(gate, reading.reason, "r12-n01")


@pytest.mark.parametrize("text", ["libfoo.so.1: cannot open shared object file", "an illegal memory access was encountered", ""])
def test_what_is_not_about_the_driver_is_not_named_so(text: str) -> None:
    (gate,) = (g for g in all_gates() if g.name == "nvbandwidth")
    reading = read_record(gate, record("nvbandwidth", "r12-n01", stdout="", exit_status=1, stderr=text))
    assert reading.reason is GateReason.EXIT_STATUS


def test_a_node_of_the_gpu_operator_could_not_be_measured() -> None:
    baselines = [{"gate": "nvbandwidth", "metric": "host_to_device_memcpy_ce", "kind": "floor", "value": 48.0, "unit": "GB/s", **SOURCE}]
    declared = gates(
        gates_levels={level: ["nvbandwidth"] for level in LEVELS},
        gates_settings={"nvbandwidth": {"testcases": ["host_to_device_memcpy_ce"], "pcie_links": False}},
        gates_baselines=baselines,
    )
    subject = subject_of(node("r12-n01", declared=declared), TODAY)
    silent = record("nvbandwidth", "r12-n01", "", exit_status=127, stderr=TEXTS[0])
    found = judge([subject], [silent], level="standard", gates=["nvbandwidth"])
    assert {(r.outcome, r.reason) for r in found} == {(Outcome.COULD_NOT_RUN, GateReason.DRIVER_LIBRARY)}
    assert "libcuda.so.1" in found[0].detail
