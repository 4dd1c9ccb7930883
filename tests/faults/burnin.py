"""The burn-in of a rack by the program's own flow; only what agents would have brought is simulated."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from unittest import mock

from clusterctl.adapters.config import Config
from clusterctl.adapters.run_directory import RunDir
from clusterctl.core.gates.planning.step import AGAIN
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import RawRecord
from clusterctl.workflows.burnin import measure_and_judge
from clusterctl_tools import nvidia_smi, nvme_read, torch_gemm
from faults import disk_outputs, gpu_outputs, group_outputs, load_outputs, memory_outputs, network_outputs
from faults.snapshots import snapshot
from faults.world import nodes
from support.gates import TODAY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clusterctl.core.gates.planning.gate_plan import GatePlan
    from clusterctl.core.gates.planning.step import GateStep
    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.level import Level
    from clusterctl.model.own_history import HistoryKey
    from faults.world import Rack

_AT = "2026-01-15T00:00:00+00:00"
_VERSION = "as pinned"
_SHORT_S = 5.0
_OF_A_STEP = {"nvme_fio": disk_outputs.reads, "storage_throughput": group_outputs.storage, "training_proxy": group_outputs.training}
# Equal snapshots are read many times, as each part of a burn-in judges those of the parts before it: a third of the time of a rack of trays.
_READ_ONCE: dict[str, Any] = {
    reader.__name__: lru_cache(maxsize=64)(reader) for reader in (nvidia_smi.nvlink_counters, nvidia_smi.gpu_counters)
}


def burn_in(
    rack: Rack, level: Level = "standard", gates: Sequence[str] | None = None, usual: Mapping[HistoryKey, float] | None = None
) -> tuple[GateResult, ...]:
    """All gates of a level, or only `gates`; both stages of pairs and the group, as `clusterctl burnin` measures and judges them. `usual`: what devices read before."""

    def measured(plan: GatePlan, *_: object, **__: object) -> tuple[RawRecord, ...]:
        return tuple(records(rack, plan))

    subjects = tuple(subject_of(node, TODAY) for node in nodes(rack.kind, rack.added_gates))
    with TemporaryDirectory() as folder:
        rundir = RunDir(rack.seed, Path(folder))  # the run's id is the seed of its pairs
        with mock.patch.object(measure_and_judge, "measure", measured), mock.patch.multiple(nvidia_smi, **_READ_ONCE):
            return measure_and_judge.run_burnin(subjects, rundir, Config(Path(folder), (), Path(folder)), level, gates=gates, usual=usual)


def records(rack: Rack, plan: GatePlan) -> Iterator[RawRecord]:
    """What the nodes of a plan bring; a change `no_record` loses an adapter's."""
    lost = {(c.node, c.hca) for c in rack.of("no_record")}
    groups = [s.peers for steps in plan.steps.values() for s in steps if s.peers]
    for node, steps in plan.steps.items():
        group = next((peers for peers in groups if node in peers), ())
        for step in steps:
            if not {(node, step.device), (step.peer, step.peer_device)} & lost:
                yield _record(rack, node, step, group)


def _record(rack: Rack, node: str, step: GateStep, group: Sequence[str]) -> RawRecord:
    seconds = _seconds(step)
    if step.name.partition(".")[0] == AGAIN:  # two measurements of the same parts
        rack = replace(rack, measured=f"{rack.measured} {AGAIN}".strip())
    text, status = _output(rack, node, step, group)
    record = RawRecord(
        gate=step.gate,
        step=step.name,
        tool=step.tool,
        node=node,
        argv=step.argv,
        started_at=_AT,
        duration_s=seconds,
        exit_status=status,
        stdout=text,
        stderr="",
        device=step.device,
        peer=step.peer,
        peer_device=step.peer_device,
        peers=step.peers,
        tool_version=_VERSION,
        simulated=True,
        links=gpu_outputs.hops(rack, node) if step.links_of else (),
        trace=load_outputs.trace(rack, node, seconds) if step.trace_argv else (),
    )
    if not network_outputs.hangs(rack, step) or step.gate != "nccl_group":
        return record
    error = f"timed out after {step.timeout_s} s"
    return replace(record, exit_status=None, stdout="", error=error, error_code=GateReason.TIMED_OUT, duration_s=float(step.timeout_s))


def _seconds(step: GateStep) -> float:
    """How long a step runs; a trace sleeps."""
    if step.argv[0] == "sleep" or step.tool in ("ubergemm", "gpu_burn"):
        return float(step.argv[-1])
    return nvme_read.requested_s(step.argv) if step.tool == "nvme_read" else torch_gemm.requested_s(step.argv) or _SHORT_S


def _output(rack: Rack, node: str, step: GateStep, group: Sequence[str]) -> tuple[str, int]:
    """What a step prints, and its exit status; `group`: the nodes that run together."""
    text, status = "", 0
    if step.gate == "load_errors":
        text = snapshot(rack, node, loaded=step.name != "before")
    elif step.gate == "dcgm_diag":
        text = gpu_outputs.diagnostic(rack, node, int(step.argv[step.argv.index("-r") + 1]))
        status = 226 if rack.of("dcgm", node) else 0
    elif step.gate == "nvbandwidth":
        text = gpu_outputs.copies(rack, node, step.argv[step.argv.index("-t") + 1 :])
    elif step.gate in load_outputs.LOADS:
        text = load_outputs.LOADS[step.gate](rack, node, int(step.device.removeprefix("gpu"))) if step.device else ""
    elif step.gate in _OF_A_STEP:
        text = _OF_A_STEP[step.gate](rack, node, step)
    elif step.gate == "host_memory":
        text, status = memory_outputs.words(rack, node)
    elif step.gate == "nccl_node":
        text, status = network_outputs.on_one_node(rack, node, step)
    elif step.gate == "nccl_group" and step.peers:
        text, status = network_outputs.of_group(rack, step)
    elif step.gate == "nccl_group":
        text = network_outputs.rank_logs(rack, node, group, step.argv) if step.name.startswith("ranks") else ""
    else:
        text = network_outputs.pair(rack, node, step)
    return text, status
