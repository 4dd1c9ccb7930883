"""rdma_pair_gpu: what proves that a run was in the memory of a GPU, and what a run shows whose memory no adapter registers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from clusterctl.core.gates import rdma_pair_gpu
from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.planning.devices import read_hcas
from clusterctl.core.gates.planning.step import ServerPlace
from clusterctl.core.gates.subject import subject_of
from clusterctl.core.parsers import UnparsableError
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.model.level import LEVELS
from support.gates import IN_GPU_MEMORY, RDMA_FLOOR, TODAY, gates, meeting, nodes, perftest
from support.recorded import recorded

if TYPE_CHECKING:
    from collections.abc import Sequence

# cuda_memory.c of perftest 25.01.0-0.80.
OLD = "cuMemAlloc() of a 67108864 bytes GPU buffer\nallocated GPU buffer address at 00007f6eff000000 pointer=0x7f6eff000000\n"
# The same of 25.07.0-0.104 on an integrated GPU.
INTEGRATED = (
    "CUDA device integrated: 1\nallocated GPU buffer address at 0x5f6a182d2370\n"
    "allocated GPU buffer of a 67108864 address at 0x5f6a182d2370 for type CUDA_MEM_DEVICE\n"
)
# perftest_resources.c of 25.07.0-0.104: without a DMA-BUF no number of the error.
REFUSED = "Couldn't allocate MR\nfailed to create mr\nFailed to create MR\n Couldn't create IB resources\n"
PEER_ENDED = "ethernet_read_keys: Couldn't read remote address\n Unable to read from socket/rdma_cm\n Failed to exchange data between server and clients\n"


def gpu_pair(*texts: str, stderr: Sequence[str] = ("", "")) -> list[GateResult]:
    floor = {**RDMA_FLOOR, "gate": "rdma_pair_gpu"}
    levels = {level: ["rdma_pair_gpu"] for level in LEVELS}
    both = [subject_of(n, TODAY) for n in nodes(2, rails=1, declared=gates(gates_levels=levels, gates_baselines=[floor]))]
    runs = meeting("n1", "n2", 0, 0, 392.0)
    records = [
        replace(r, gate="rdma_pair_gpu", stdout=text, stderr=errors, exit_status=int(bool(errors)))
        for r, text, errors in zip(runs, 2 * texts, 2 * list(stderr), strict=True)
    ]
    return list(judge(both, records, level="full", gates=["rdma_pair_gpu"]))


def test_gpu_memory_is_judged_by_its_own_floor() -> None:
    good, slow = IN_GPU_MEMORY + perftest(391.0), IN_GPU_MEMORY + perftest(160.0)
    assert {r.outcome for r in gpu_pair(good, good)} == {Outcome.PASS}
    assert {r.outcome for r in gpu_pair(slow, slow)} != {Outcome.PASS}


@pytest.mark.parametrize(("gpu", "told"), [(0, False), (None, True)])
def test_the_hint_names_a_gpu_that_nobody_declared(gpu: int | None, told: bool) -> None:
    (hca,) = read_hcas({"hardware_hcas": [{"name": "mlx5_0", "rail": 0, "rate_gbps": 400, "gpu": gpu}]}, "n1")
    hint = rdma_pair_gpu.GATE.slow_hint(hca, [160.0], "again")
    assert ("hardware_hcas declares no gpu for mlx5_0, so its GPU was taken from near_gpus or by its rail" in hint) == told


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, []),
        ({"dmabuf": True}, ["--use_cuda_dmabuf"]),
        # perftest_parameters.c: Data Direct only with a DMA-BUF, and only after --use_cuda (linux-rdma/perftest issue 336).
        ({"data_direct": True}, ["--use_cuda_dmabuf", "--use_data_direct"]),
        ({"data_direct": True, "dmabuf": True}, ["--use_cuda_dmabuf", "--use_data_direct"]),
    ],
)
def test_gpu_memory_is_registered_as_declared(settings: dict[str, bool], words: list[str]) -> None:
    (hca,) = read_hcas({"hardware_hcas": [{"name": "mlx5_0", "rail": 0, "rate_gbps": 800, "gpu": 1}]}, "n1")
    own = rdma_pair_gpu.RdmaPairGpuSettings.model_validate(settings)
    argv = list(rdma_pair_gpu.GATE.argv(own, "full", hca, ServerPlace("", 24514, is_own=True)))
    assert argv[argv.index("--use_cuda=1") + 1 :] == words


def test_a_run_in_host_memory_proves_nothing_about_gpu_memory() -> None:
    results = gpu_pair(perftest(391.0), IN_GPU_MEMORY + perftest(391.0))
    assert {(r.outcome, r.reason) for r in results} == {(Outcome.COULD_NOT_RUN, GateReason.UNPARSABLE)}
    assert "GPU memory" in results[0].detail


@pytest.mark.parametrize("memory", [IN_GPU_MEMORY, OLD, INTEGRATED])
def test_every_version_that_shows_memory_of_a_gpu_counts(memory: str) -> None:
    assert {r.outcome for r in gpu_pair(memory + perftest(391.0), memory + perftest(391.0))} == {Outcome.PASS}


@pytest.mark.parametrize("kind", ["CUDA_MEM_MANAGED", "CUDA_MEM_HOSTALLOC", "CUDA_MEM_HOSTREGISTER", "CUDA_MEM_MALLOC"])
def test_memory_of_cuda_that_is_not_on_the_gpu_does_not_count(kind: str) -> None:
    other = IN_GPU_MEMORY.replace("CUDA_MEM_DEVICE", kind) + perftest(391.0)
    results = gpu_pair(other, IN_GPU_MEMORY + perftest(391.0))
    assert {(r.outcome, r.reason) for r in results} == {(Outcome.COULD_NOT_RUN, GateReason.UNPARSABLE)}
    assert kind in results[0].detail


@pytest.mark.parametrize(
    ("file", "device", "gbps"),
    [
        ("perftest/h200-ib_write_bw-a-use_cuda_dmabuf-gke.txt", "mlx5_3", 140.40),
        ("perftest/rtx4080-ib_write_bw-use_cuda-peermem.txt", "mlx5_0", 125.4),
    ],
)
def test_recorded_runs_in_gpu_memory_are_read(file: str, device: str, gbps: float) -> None:
    samples = rdma_pair_gpu.GATE.samples(recorded(file).read_text(encoding="utf-8"))
    last = [s for s in samples if s.metric == "bandwidth_average"][-1]
    assert last.device == device
    assert last.value == pytest.approx(gbps, abs=0.05)


def test_a_buffer_without_a_result_row_is_no_evidence() -> None:
    text = recorded("perftest/use_cuda-peermem-missing-mr-error14.txt").read_text(encoding="utf-8")
    assert "for type CUDA_MEM_DEVICE" in text
    with pytest.raises(UnparsableError):
        rdma_pair_gpu.GATE.samples(text)
    with pytest.raises(UnparsableError, match="no result row"):
        rdma_pair_gpu.GATE.samples(IN_GPU_MEMORY)


@pytest.mark.parametrize(
    "errors",
    [
        REFUSED,
        REFUSED.replace("allocate MR\n", "allocate MR with error=14\n", 1),
        REFUSED.replace("allocate MR\n", "allocate MR with error=95\nOFED stack does not support DMA-BUF\n", 1),
        "DMA-BUF is not supported on this GPU\nFailed to init memory\n",
    ],
)
@pytest.mark.parametrize("swapped", [False, True])
def test_gpu_memory_that_the_adapter_does_not_register_has_a_reason_of_its_own(errors: str, swapped: bool) -> None:
    """Whichever side it is: the other one reports only that its peer is gone."""
    sides = (PEER_ENDED, errors) if swapped else (errors, PEER_ENDED)
    results = gpu_pair(IN_GPU_MEMORY, IN_GPU_MEMORY, stderr=sides)
    assert {(r.outcome, r.reason) for r in results} == {(Outcome.COULD_NOT_RUN, GateReason.GPU_MEMORY_UNREGISTERED)}
    for result in results:
        assert "nvidia-peermem" in result.hint
        assert "dmabuf" in result.hint


def test_host_memory_that_is_not_registered_has_nothing_to_do_with_the_gpu() -> None:
    runs = [replace(r, stderr=REFUSED, stdout="", exit_status=1) for r in meeting("n1", "n2", 0, 0, 392.0)]
    results = judge([subject_of(n, TODAY) for n in nodes(2, rails=1)], runs, level="standard", gates=["rdma_pair"])
    assert {r.reason for r in results} == {GateReason.EXIT_STATUS}


@pytest.mark.parametrize(("declared", "near", "gpu"), [(None, [], 1), (None, [1, 0, 3, 2], 0), (None, [3], 1), (1, [1, 0], 1), (0, [], 0)])
def test_the_gpu_that_an_adapter_is_measured_with(declared: int | None, near: list[int], gpu: int) -> None:
    """On GB300 no adapter is on the PCIe switch of a GPU, which the role ofed requires where one is declared beside it."""
    rows = [{"name": f"mlx5_{i}", "rail": i, "rate_gbps": 800, "gpu": declared if i else None} for i in (0, 1)]
    hca = read_hcas({"hardware_hcas": rows}, "n1")[1]
    own = rdma_pair_gpu.RdmaPairGpuSettings.model_validate({"near_gpus": near})
    assert f"--use_cuda={gpu}" in rdma_pair_gpu.GATE.argv(own, "full", hca, ServerPlace("", 24514, is_own=True))
