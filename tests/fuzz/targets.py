"""What is fuzzed: every parser on its corpus, and the judge of every gate on runs that are bad as a whole.

The oracle of a judge target: each of its runs is bad in all its evidence (every GPU, every row, every channel), so a pass of any mutation is
a false pass. The oracle of a parser target: it returns samples with values that can be kept or raises UnparsableError. The code of clusterctl's own gates raises nothing else, and no
hint is about a repair where nothing was measured.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.registry import gate_names
from clusterctl.core.gates.subject import Subject, subject_of
from clusterctl.core.parsers import UnparsableError, parse_output
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome
from clusterctl.model.level import LEVELS
from clusterctl.model.node import NodeSpec
from clusterctl.model.trace_sample import TraceSample
from clusterctl_tools.torch_gemm import gemm_argv
from clusterctl_tools.ubergemm import load_argv
from fuzz.inputs import input_targets
from support.gates import (
    CASES,
    IN_GPU_MEMORY,
    RDMA_FLOOR,
    SOURCE,
    TODAY,
    gates,
    meeting,
    nccl,
    node,
    perftest,
    record,
    repairs_without_evidence,
    snapshot,
)
from support.host_memory import memory_record, node_memory_output
from support.latency import BAD_LATENCIES, latency_pair, latency_pair_records
from support.nvme import node_output, nvme_record
from support.plain_yaml import load_yaml
from support.recorded import RECORDED
from support.shared_storage import BAD_STORAGE, STORAGE_PAIR, storage_output, storage_pair_records
from support.site_gate import FAN_FLOOR, Fans, registered
from support.torch_gemm import torch_output
from support.training import BAD_TRAININGS, TRAINING_PAIR, training_output, training_pair_records

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clusterctl.model.gate_result import RawRecord

_LARGEST_BYTES = 60_000
_OWN_GATES = gate_names()
_NO_INTEGER = 1 << 63  # of a database
_NAN = float("nan")
_INF = float("inf")
_STREAM = "Function    Best Rate MB/s  Avg time     Min time     Max time\n{rows}Solution Validates: avg error less than 1.000000e-13 on all three arrays\n"


@dataclass(frozen=True)
class Target:
    """Something that reads text.

    Attributes:
        corpus: texts that are mutated.
        check: takes a mutated text; returns what is wrong with the reader's answer, empty if nothing is.
    """

    name: str
    corpus: Sequence[str]
    check: Callable[[str], str]


def all_targets() -> list[Target]:
    """Parsers first, then judges, then what servers and people send."""
    return [*_parser_targets(), *_judge_targets(), *(Target(*made) for made in input_targets())]


def _parser_targets() -> list[Target]:
    corpus: dict[str, list[str]] = {}
    for case in sorted((CASES / "parsers").glob("*/case.yml")):
        tool = load_yaml(case.read_text(encoding="utf-8"))["tool"]
        corpus.setdefault(tool, []).append((case.parent / "input.txt").read_text(encoding="utf-8"))
    for entry in load_yaml((CASES / "parsers" / "recordings.yml").read_text(encoding="utf-8")):
        file = RECORDED / entry["file"]
        if file.is_file() and file.stat().st_size <= _LARGEST_BYTES:
            corpus.setdefault(entry["tool"], []).append(file.read_text(encoding="utf-8", errors="replace"))
    corpus.setdefault("error_snapshot", []).append(snapshot(5))
    corpus.setdefault("nvme_read", []).append(node_output(2))
    corpus.setdefault("storage_throughput", []).append(storage_output(0, 2))
    corpus.setdefault("torch_gemm", []).append(torch_output())
    corpus.setdefault("training_proxy", []).append(training_output(0, 2))
    return [Target(f"parser {tool}", texts, _parser_check(tool)) for tool, texts in sorted(corpus.items())]


def _parser_check(tool: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        try:
            samples = parse_output(tool, text)
        except UnparsableError:
            return ""
        return (
            ""
            if all(isfinite(s.value) and (s.size_bytes or 0) < _NO_INTEGER for s in samples)
            else "a sample with a number that cannot be kept"
        )

    return check


def _judge_targets() -> list[Target]:
    stream = {level: ["cpu_stream"] for level in LEVELS}
    floors = [{"gate": "cpu_stream", "metric": m, "kind": "floor", "value": 100000.0, "unit": "MB/s", **SOURCE} for m in ("copy", "triad")]
    copies = {"host_to_device_memcpy_ce": 48.0, "device_to_device_memcpy_read_ce": 335.0}
    bandwidth = gates(
        gates_levels={level: ["nvbandwidth"] for level in LEVELS},
        gates_settings={"nvbandwidth": {"testcases": list(copies), "pcie_links": False}},  # links are not output of the tool
        gates_baselines=[
            {"gate": "nvbandwidth", "metric": m, "kind": k, "value": v * f, "unit": "GB/s", **SOURCE}
            for m, v in copies.items()
            for k, f in (("floor", 1), ("ceiling", 1.4))
        ],
    )
    one, two = subject_of(node("n1"), TODAY), subject_of(node("n2"), TODAY)
    rows = "".join(
        f"{name}:          {rate}     0.160000     0.150000     0.170000\n"
        for name, rate in (("Copy", 5000.1), ("Scale", 5000.2), ("Add", 5000.3), ("Triad", 5000.4))
    )
    no_numbers = nccl(_INF, via="NET/IB/0/GDRDMA", ranks=16)
    group = [
        no_numbers,
        nccl(40.0, via="NET/IB/0/GDRDMA", ranks=16),
        nccl(386.0, via="NET/Socket/0", ranks=16),
        nccl(386.0, via="NET/IB/0", ranks=16),
    ]
    return [
        _solo("dcgm_diag", one, [_diag("Fail"), _diag("Skip"), _diag("Pass", gpus=7)]),
        _solo(
            "nvbandwidth",
            subject_of(node("n1", declared=bandwidth), TODAY),
            [_copies(8, 20.0), _copies(7, 395.0, 55.0), _copies(8, _NAN, _NAN)],
        ),
        _solo(
            "cpu_stream",
            subject_of(node("n1", declared=gates(gates_levels=stream, gates_baselines=floors)), TODAY),
            [_STREAM.format(rows=rows), _STREAM.format(rows=rows.replace("5000.1", "nan").replace("5000.4", "inf"))],
        ),
        _solo(
            "vendor_diag",
            subject_of(node("n1", declared=gates(gates_levels={level: ["vendor_diag"] for level in LEVELS}, gates_baselines=[])), TODAY),
            [(CASES / "parsers" / "vendor_diag_messages" / "input.txt").read_text(encoding="utf-8"), "FAIL\n", "RETEST\n"],
        ),
        *_stress_targets(),
        *_results_targets(),
        *_products_targets(),
        _memory_target(),
        _disks_target(),
        _judge_target("storage_throughput", STORAGE_PAIR, BAD_STORAGE, storage_pair_records),
        _judge_target("training_proxy", TRAINING_PAIR, BAD_TRAININGS, training_pair_records),
        _solo(
            "nccl_node", one, [nccl(300.0), nccl(477.0, wrong="5", closing="5 FAILED"), nccl(477.0, via="SHM/direct/direct"), nccl(_NAN)]
        ),
        _judge_target("nccl_group", (one, two), group, lambda text: (record("nccl_group", "n1", text, step="group", peers=("n1", "n2")),)),
        _judge_target(
            "rdma_pair",
            (one, two),
            [perftest(196.0), perftest(392.0, size=64), perftest(392.0, title="Send BW Test"), perftest(_NAN)],
            _pair,
        ),
        _judge_target(
            "rdma_pair_gpu",
            _gpu_pair(),
            [IN_GPU_MEMORY + perftest(196.0), perftest(392.0), IN_GPU_MEMORY + perftest(392.0, size=64), IN_GPU_MEMORY + perftest(_NAN)],
            _on_gpus,
        ),
        _judge_target("rdma_latency", latency_pair(), BAD_LATENCIES, latency_pair_records),
        _judge_target(
            "nccl_group",
            (one, two),
            [*group[2:], no_numbers, nccl(386.0, via="NET/IB/0/GDRDMA", ranks=16, wrong="5", closing="5 FAILED")],
            _ring,
            name="nccl_group ring",
        ),
        _judge_target(
            "load_errors",
            (one,),
            [_after("Yes"), _after("No", boot_id="boot-2"), _after("No", xids=12), _grown(), _grown(_NAN)],
            _snapshots,
        ),
        _site_target(),
    ]


def _results_targets() -> list[Target]:
    """A GPU that computes wrong results, one that computed nothing, and one that died."""
    subject = subject_of(node("n1", gpus=2, declared=gates(gates_levels={level: ["gpu_results"] for level in LEVELS})), TODAY)
    ending = "Results are 268435456 bytes each, thus performing 280 iterations\ndone\n\nTested 1 GPUs:\n\tGPU 0: "
    good = f"\r100.0%  proc'd: 56000 (50900 Gflop/s)   errors: 0   temps: 61 C \n{ending}OK\n"
    wrong = f"\r100.0%  proc'd: 56000 (50900 Gflop/s)   errors: -524288000  (WARNING!)  temps: 61 C \n{ending}FAULTY\n"
    idle = f"\r100.0%  proc'd: 0 (0 Gflop/s)   errors: 0   temps: 41 C \n{ending}OK\n"
    died = "\r50.0%  proc'd: -1 (0 Gflop/s)   errors: 1752808354  (DIED!)  temps: 38 C \nNo clients are alive!  Aborting\n"

    def records(text: str) -> list[RawRecord]:
        return [
            record("gpu_results", "n1", output, step=f"gpu{i}", device=f"gpu{i}", tool="gpu_burn", argv=("gpu_burn", "-tc", "1"))
            for i, output in enumerate((text, good))
        ]

    return [_judge_target("gpu_results", (subject,), [wrong, idle, died], records)]


def _products_targets() -> list[Target]:
    """A GPU one of whose products differs, one whose matrices were copied wrongly, and one that is wrong each time."""
    declared = gates(gates_levels={level: ["torch_gemm"] for level in LEVELS})
    subject = subject_of(node("n1", gpus=4, declared=declared), TODAY)
    good = torch_output()
    bad = [torch_output(differing=1), torch_output(first="b", last="b"), torch_output(first="b", last="b", again="b")]
    cool = "".join(f"{i}, 00000000:{i + 16}:00.0, 1350, 693.50, 700.00, 66, 19, 55, 0x0000000000000004\n" for i in range(4))
    samples = tuple(TraceSample(5.0 * i, 0.2, 0, cool) for i in range(10))

    def records(text: str) -> list[RawRecord]:
        loads = [
            record("torch_gemm", "n1", output, step=f"gpu{i}", device=f"gpu{i}", tool="torch_gemm", argv=tuple(gemm_argv(i, 1)))
            for i, output in enumerate([text, *[good] * 3])
        ]
        return [*loads, record("torch_gemm", "n1", "", step="trace", argv=("sleep", "50"), tool="torch_gemm", trace=samples)]

    return [_judge_target("torch_gemm", (subject,), bad, records)]


def _memory_target() -> Target:
    """Words that are read otherwise, a verdict PASS above them, and runs that tested a part of the memory for a moment."""
    subject = subject_of(node("n1", declared=gates(gates_levels={level: ["host_memory"] for level in LEVELS}, gates_baselines=[])), TODAY)
    part = {"tested_mib": 9000, "ran_s": 3.0, "copies": 0.2, "node": {"asked_mib": 90000, "free_mib": 95000}}
    bad = [
        node_memory_output(incidents=7),
        node_memory_output(incidents=9, counted=0),
        node_memory_output(**part),
        node_memory_output(**part, killed_by=9, oom_kills=1),
    ]
    return _judge_target("host_memory", (subject,), bad, lambda text: (memory_record("n1", text),))


def _disks_target() -> Target:
    """Disks that are slow, return errors, were read for a moment, or are fewer than declared."""
    floor = {"gate": "nvme_fio", "metric": "read_bandwidth", "kind": "floor", "value": 6.0, "unit": "GB/s", **SOURCE}
    declared = gates(gates_levels={level: ["nvme_fio"] for level in LEVELS}, gates_baselines=[floor])
    one = node("n1", declared=declared)
    hardware = {**one.spec.roles["hardware"], "hardware_nvme_data_disks": 4}
    subject = subject_of(replace(one, spec=NodeSpec({"hardware": hardware}, one.spec.gates, (), "sha256:0")), TODAY)
    bad = [
        node_output(4, gbps=3.4),
        node_output(4, fio_error=5),
        node_output(4, ran_s=3.0),
        node_output(3),
        node_output(4, {2: {"gbps": 3.4}}),
    ]
    return _judge_target("nvme_fio", (subject,), bad, lambda text: (nvme_record("n1", text),))


def _stress_targets() -> list[Target]:
    """A GPU that is slow, and GPUs that are too warm: what ubergemm prints, and what nvidia-smi prints meanwhile."""
    limits = [
        {"gate": "gpu_stress", "metric": "gemm", "kind": k, "value": v, "unit": "TFLOPS", **SOURCE}
        for k, v in (("floor", 715.0), ("ceiling", 989.0))
    ]
    subject = subject_of(
        node("n1", declared=gates(gates_levels={level: ["gpu_stress"] for level in LEVELS}, gates_baselines=limits)), TODAY
    )
    warm = "".join(f"{i}, 00000000:{i + 16}:00.0, 742, 693.50, 700.00, 90, -2, 98, 0x0000000000000048\n" for i in range(8))
    good, slow = (f"starting....\nGFlops:{rate}e+05 GFlops\n" for rate in ("7.69000", "2.68000"))

    def records(outputs: Sequence[str], trace: str) -> list[RawRecord]:
        loads = [
            record("gpu_stress", "n1", text, step=f"gpu{i}", device=f"gpu{i}", tool="ubergemm", argv=tuple(load_argv(i, 1)))
            for i, text in enumerate(outputs)
        ]
        samples = tuple(TraceSample(5.0 * i, 0.2, 0, trace) for i in range(10))
        return [*loads, record("gpu_stress", "n1", "", step="trace", argv=("sleep", "50"), tool="ubergemm", trace=samples)]

    cool = warm.replace("0048", "0004").replace(" 742,", " 1485,")
    return [
        _judge_target("gpu_stress", (subject,), [slow, good.replace("7.69", "nan")], lambda text: records([text, *[good] * 7], cool)),
        _judge_target("gpu_stress", (subject,), [warm], lambda text: records([good] * 8, text), name="gpu_stress trace"),
    ]


def _solo(gate: str, subject: Subject, corpus: Sequence[str]) -> Target:
    return _judge_target(gate, (subject,), corpus, lambda text: (record(gate, "n1", text),))


def _judge_target(
    gate: str, subjects: tuple[Subject, ...], corpus: Sequence[str], records: Callable[[str], Sequence[RawRecord]], name: str = ""
) -> Target:
    def check(text: str) -> str:
        results = judge(subjects, records(text), level="standard", gates=[gate])
        own = [r for r in results if r.node == "n1"]
        if raised := [r.detail for r in own if r.reason is GateReason.GATE_RAISED and gate in _OWN_GATES]:
            return raised[0]
        if repairs := repairs_without_evidence(own):
            return f"a repair without evidence: {repairs[0]}"
        return "" if any(r.outcome is not Outcome.PASS for r in own) else "a bad run passed"

    return Target(f"judge {name or gate}", corpus, check)


def _site_target() -> Target:
    """A gate that takes no care of its output, and a second node that is good and must pass whatever the first one printed."""
    gate = Fans()
    declared = gates(gates_levels={level: [gate.name] for level in LEVELS}, gates_baselines=[dict(FAN_FLOOR)])
    with registered(gate):
        subjects = [subject_of(node(name, declared=declared), TODAY) for name in ("n1", "n2")]

    def check(text: str) -> str:
        with registered(gate):
            records = [record(gate.name, "n1", text), record(gate.name, "n2", json.dumps({"fan1": 9500}))]
            results = judge(subjects, records, level="standard", gates=[gate.name])
        if any(r.outcome is not Outcome.PASS for r in results if r.node == "n2"):
            return "a good node did not pass beside it"
        return "" if any(r.outcome is not Outcome.PASS for r in results if r.node == "n1") else "a bad run passed"

    slow = [json.dumps({f"fan{i}": speed for i in range(4)}) for speed in (100.5, _NAN, _INF, -_INF)]
    return Target("judge of a site's gate", [*slow, "[]", "null", "{}", json.dumps({"fan1": None})], check)


def _gpu_pair() -> tuple[Subject, Subject]:
    floor = {**RDMA_FLOOR, "gate": "rdma_pair_gpu"}
    declared = gates(gates_levels={level: ["rdma_pair_gpu"] for level in LEVELS}, gates_baselines=[floor])
    one, two = (subject_of(node(name, declared=declared), TODAY) for name in ("n1", "n2"))
    return one, two


def _on_gpus(text: str) -> tuple[RawRecord, ...]:
    return tuple(replace(r, gate="rdma_pair_gpu") for r in _pair(text))


def _ring(text: str) -> tuple[RawRecord, ...]:
    """A plain run that is good, and a ring that is not; with its transport only, for the ring has no floor."""
    plain = record("nccl_group", "n1", nccl(90.0, via="NET/IB/0/GDRDMA", ranks=16), step="group", peers=("n1", "n2"))
    return (plain, replace(plain, step="group@ring", stdout=text))


def _pair(text: str) -> tuple[RawRecord, ...]:
    records = [r for rail in (0, 1) for r in meeting("n1", "n2", rail, 0, 392.0)]
    return tuple(record("rdma_pair", r.node, text, **_same(r)) for r in records)


def _same(other: RawRecord) -> dict[str, object]:
    return {"step": other.step, "argv": other.argv, "device": other.device, "peer": other.peer, "peer_device": other.peer_device}


def _snapshots(text: str) -> tuple[RawRecord, ...]:
    return (record("load_errors", "n1", _after("No", minutes=5), step="before"), record("load_errors", "n1", text, step="after.nodes"))


def _grown(by: float = 9) -> str:
    return _after("No", counters={"mlx5_0/1": dict.fromkeys(("symbol_error", "link_downed", "link_error_recovery"), by)})


def _after(pending: str, minutes: float = 10, xids: int = 0, **more: Any) -> str:
    gpu = '<gpu id="00000000:{0:02X}:00.0"><remapped_rows><remapped_row_pending>{1}</remapped_row_pending></remapped_rows></gpu>'
    gpus = "\n".join(gpu.format(16 + i, pending) for i in range(8))
    xml = f"<nvidia_smi_log><driver_version>580.126.20</driver_version><attached_gpus>8</attached_gpus>{gpus}</nvidia_smi_log>"
    text = snapshot(minutes, commands={"nvidia-smi -q -x": {"error": "", "exit_status": 0, "stdout": xml, "stderr": ""}})
    lines = [f"[{400 + i}.5] NVRM: Xid (PCI:0000:{16 + i:02x}:00): 79, GPU has fallen off the bus." for i in range(xids)]
    # link_downed has a limit that no time loosens.
    counters = {"mlx5_0/1": {"symbol_error": 0, "link_downed": 0}}
    return json.dumps({**json.loads(text), "counters": counters, "log": {"error": "", "lines": lines}, **more}, indent=1)


def _diag(status: str, gpus: int = 8) -> str:
    results = [{"entity_group": "GPU", "entity_id": i, "status": status} for i in range(gpus)]
    tests = [{"name": n, "results": results} for n in ("software", "memory", "pcie")]
    return json.dumps({"DCGM Diagnostic": {"test_categories": [{"category": "x", "tests": tests}]}}, indent=1)


def _copies(gpus: int, between: float, host: float = 20.0) -> str:
    peers = [["N/A" if row == column else f"{between}" for column in range(gpus)] for row in range(gpus)]
    matrices = {"host_to_device_memcpy_ce": [[f"{host}"] * gpus], "device_to_device_memcpy_read_ce": peers}
    cases = [
        {"name": n, "status": "Passed", "bandwidth_description": "GPU(row) <- GPU(column) bandwidth (GB/s)", "bandwidth_matrix": m}
        for n, m in matrices.items()
    ]
    return json.dumps({"nvbandwidth": {"version": "v0.8", "testcases": cases}}, indent=1)
