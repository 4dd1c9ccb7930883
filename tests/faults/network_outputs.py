"""What perftest and the NCCL tests print in a rack, with the changes of a fault."""

from __future__ import annotations

import io
import json
import re
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING

from clusterctl.core.gates.nccl_proof import log_file
from clusterctl.core.gates.planning.step import AGAIN
from clusterctl_lab.simulator import machine, nccl_debug_log, nccl_tests
from clusterctl_lab.simulator.peers import Peer
from faults.domain_outputs import members_of, nccl_problem
from faults.gpu_outputs import DRIVER, views
from faults.latency_outputs import small_messages
from support.gates import IN_GPU_MEMORY, perftest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.gates.planning.step import GateStep
    from faults.world import Rack

_NCCL, _TESTS = "2.28.9", "2.17.6"
# OCI and Azure read 384 to 390 with host memory and 375 to 380 with GPU memory on NDR.
_OF_LINE_RATE = {"rdma_pair": 0.98, "rdma_pair_gpu": 0.945}
_ONE_NODE = "node"
_NO_RACK_NVLINK = "NCCL_MNNVL_ENABLE=0"
_COLLIDED = (0.60, 0.95)
# Last column of a row of nccl-tests: the values that are wrong in place.
_WRONG = re.compile(r"^(\s*\d{6,}\s.*\s)0$", re.MULTILINE)


def pair(rack: Rack, node: str, step: GateStep) -> str:
    """The output of one side of one direction between two adapters."""
    if step.gate == "rdma_latency":
        return small_messages(rack, node, step)
    gbps = _gbps(rack, node, step)
    text = perftest(gbps, device=step.device)
    return IN_GPU_MEMORY + text if step.gate == "rdma_pair_gpu" else text


def _gbps(rack: Rack, node: str, step: GateStep) -> float:
    client, server = (node, step.peer) if step.side == "client" else (step.peer, node)
    rail = machine.hca_index(step.device)
    meeting = (step.gate, *sorted((client, server)), step.name.partition(".turn")[0])
    line_rate_gbps = float(machine.THIS.line_rate_gbps)
    usual = line_rate_gbps * _OF_LINE_RATE[step.gate]
    rate = usual * rack.spread(rack.noise.perftest, *meeting, client)
    if rack.random("collision", *meeting).random() < rack.noise.collisions:
        rate = min(rate, line_rate_gbps * rack.random("depth", *meeting).uniform(*_COLLIDED))
    return min(line_rate_gbps, rate * _left(rack, step, client, server, rail))


def _left(rack: Rack, step: GateStep, client: str, server: str, rail: int) -> float:
    """What the faults leave of a meeting: the slower of both ends and of the way between them."""
    ends = [1.0]
    for change in (c for name in (client, server) for c in rack.of("pair", name) if c.hca in ("", step.device)):
        met = rack.random("shown", change.node, step.name.partition(".turn")[0]).random() < change.share
        if met and change.gate in ("", step.gate) and change.path in ("", "client" if change.node == client else "server"):
            ends.append(change.factor)
    ends += [c.factor for c in rack.of("rail_switch") if c.rail == rail]
    leaves = {rack.kind.leaf_of(client), rack.kind.leaf_of(server)}
    ends += [c.factor for c in rack.of("uplink") if c.rail == rail and len(leaves) > 1 and c.leaf in leaves]
    return min(ends)


def _peer(rack: Rack, node: str, run: str, argv: Sequence[str], *, first: bool = False) -> Peer:
    gone = {c.gpu for c in rack.of("gpu_gone", node)}
    factor = rack.spread(rack.noise.nccl, run, node)
    way = "network" if _NO_RACK_NVLINK in argv and run != _ONE_NODE else "nvlink"
    # What shows in a share of the measurements shows in the first one of the node alone.
    for change in (c for c in rack.of("nccl", node) if c.path in ("", way) and (c.share == 1 or first)):
        factor *= change.factor
    own = [c.factor for c in rack.of("pair", node) if c.share == 1]
    return Peer(
        node=node,
        driver=DRIVER,
        nccl=_NCCL,
        tests=_TESTS,
        fabric=all(c.path != "fabric/state" for c in rack.of("smi", node)),
        gdr=True,
        gpus=[view.gpu.bus_id for view in views(node) if view.minor not in gone],
        slowest_hca=min([1.0, *own]),
        nccl_factor=factor,
        rack=nccl_problem(rack, node),
        imex=members_of(rack, node),
    )


def on_one_node(rack: Rack, node: str, step: GateStep) -> tuple[str, int]:
    """The output and exit status of NCCL's test on one node."""
    text, status = _run(step.argv, [(_peer(rack, node, _ONE_NODE, step.argv, first=step.name != AGAIN), len(views(node)))])
    for change in rack.of("nccl_output", node):
        text = _WRONG.sub(rf"\g<1>{change.value}", text) if change.path == "wrong" else text.replace(change.path, change.value)
    return text, status


def of_group(rack: Rack, step: GateStep) -> tuple[str, int]:
    """The output and exit status of NCCL's test over all nodes of a step."""
    only = next((word.rpartition("=")[2] for word in step.argv if word.startswith("NCCL_IB_HCA=")), "")
    for change in rack.of("group_output"):
        if change.node in step.peers and only in ("", change.hca):
            return change.value, 3
    return _run(step.argv, _group(rack, step.peers, step.name, step.argv))


def hangs(rack: Rack, step: GateStep) -> bool:
    """Whether a group of a step ends at its time limit."""
    return any(change.node in step.peers for change in rack.of("nccl_hang"))


def rank_logs(rack: Rack, node: str, peers: Sequence[str], argv: Sequence[str]) -> str:
    """What the logs of a node's ranks hold, which `argv` reads; those of the plain run are of the NVLink of the rack, where there is one."""
    over_nvlink = machine.THIS.rack_nvlink and argv[-1] == log_file("", "*")
    files = nccl_debug_log.files("nccl_rank.%h.%p.log", _group(rack, peers, "group", argv), rack_nvlink=over_nvlink)
    network = next((c.value for c in rack.of("nccl_hang", node) if c.value), "IB")
    texts = {name: text.replace("Using network IB", f"Using network {network}") for name, text in files.get(node, {}).items()}
    logs = [{"name": name, "lines": text.splitlines()} for name, text in texts.items()]
    return json.dumps({"schema_version": 1, "files": logs})


def _group(rack: Rack, peers: Sequence[str], run: str, argv: Sequence[str]) -> list[tuple[Peer, int]]:
    return [(_peer(rack, name, run, argv), machine.GPUS) for name in peers]


def _run(argv: Sequence[str], group: list[tuple[Peer, int]]) -> tuple[str, int]:
    program = next(i for i, word in enumerate(argv) if word.endswith("_perf"))
    assigned = dict(word.split("=", 1) for word in argv[:program] if "=" in word)
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        status = nccl_tests.run_group(
            argv[program].rpartition("/")[2].removesuffix("_perf"),
            list(argv[program + 1 :]),
            _TESTS,
            group,
            assigned,
            write=lambda _files: None,
        )
    return out.getvalue(), status
