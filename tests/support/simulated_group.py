"""Stands in for the playbook of a burn-in: real agents on loopback addresses, which run the lab's simulated MPI and NCCL tests."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterctl.model.gate_result import RawRecord
from clusterctl.model.playbook_result import HostOutcome, HostStatus, PlaybookResult, PlaybookStatus
from support.agents import AgentNode, address_of
from support.gates import snapshot
from support.ports import free_port
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.adapters.ansible.runner import PlaybookRequest

# A program of a node, started as lab nodes start theirs: its name says which, LAB_NODE where it runs; peers.json has what differs from a healthy node.
PROGRAM = """#!{python} -IS
import importlib, json, os, sys
sys.path.insert(0, {lab!r})
name = os.environ["LAB_NODE"]
os.uname = lambda: os.uname_result(("Linux", name, "6.8.0", "1", "x86_64"))
from clusterctl_lab.simulator import machine, mpirun, peers
with open({peers!r}) as file:
    changes = json.load(file)

def at(address):
    node = name if address == "localhost" else "n" + address.rpartition(".")[2]
    gpus = [machine.gpu(node, i).bus_id for i in range(machine.GPUS)]
    usual = dict(node=node, driver="580.126.20", nccl="2.28.9", tests="2.17.6", fabric=True, gdr=True, gpus=gpus, slowest_hca=1.0, nccl_factor=1.0)
    return peers.Peer(**{{**usual, **changes.get(node, {{}})}})

peers.query_peer = at
peers.describe_self = lambda: at("127.0.0." + name[1:])
mpirun.is_local = lambda address: address == "localhost"
program = os.path.basename(sys.argv[0])
module = importlib.import_module("clusterctl_lab.simulator." + {{"all_reduce_perf": "nccl_tests"}}.get(program, program))
sys.exit(module.main([program, *sys.argv[1:]], "4.1.6" if program != "all_reduce_perf" else "2.17.6"))
"""
MEASURED = "nccl_group"


class SimulatedGroup:
    """Plays `burnin.yml` on nodes `n<i>` at 127.0.0.<i>. Other gates than the group's are answered without any agent."""

    def __init__(self, folder: Path, peers: Mapping[str, Mapping[str, Any]]) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        (folder / "peers.json").write_text(json.dumps(peers))
        text = PROGRAM.format(python=sys.executable, lab=str(ROOT / "lab"), peers=str(folder / "peers.json"))
        for program in ("mpirun", "orted", "all_reduce_perf"):
            (self.bin / program).write_text(text)
            (self.bin / program).chmod(0o755)
        self.plays = 0
        self.records: dict[str, list[RawRecord]] = {}

    def play(self, request: PlaybookRequest, artifacts: Path, on_event: object = None) -> PlaybookResult:
        """Run the plans of the nodes and bring their records."""
        assert request.extra_vars_file is not None
        self.plays += 1
        variables = json.loads(request.extra_vars_file.read_text())
        folder, port = self.folder / f"play{self.plays}", free_port()
        folder.mkdir()
        nodes = {name: self.node(folder, port, Path(variables["burnin_plan_dir"]) / f"{name}.json") for name in request.nodes}
        for name, node in nodes.items():
            node.end()
            lines = (node.folder / "records.jsonl").read_text() + self.answers(name, node)
            (Path(variables["burnin_records_dir"]) / f"{name}.jsonl").write_text(lines)
            self.records.setdefault(name, []).extend(node.records.values())
        hosts = {name: HostOutcome(name, HostStatus.OK) for name in request.nodes}
        return PlaybookResult(PlaybookStatus.COMPLETED, hosts, "ansible-playbook", 1.0, "")

    def node(self, folder: Path, port: int, file: Path) -> AgentNode:
        """A node whose agent runs its steps of the group."""
        planned = json.loads(file.read_text())
        steps = [s for s in planned.pop("steps") if s["gate"] == MEASURED]
        name = planned["node"]
        own = {**planned, "listen": address_of(name), "control_port": port, "lock": str(folder / f"{name}.lock")}
        environment = {**os.environ, "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}", "LAB_NODE": name}
        own.pop("node")
        made = AgentNode(folder, name, port, steps, environment, **{k: v for k, v in own.items() if k != "control_port"})
        (made.folder / "all_steps.json").write_text(file.read_text())
        return made.start()

    def answers(self, name: str, node: AgentNode) -> str:
        """What the other gates found: nothing wrong."""
        steps = json.loads((node.folder / "all_steps.json").read_text())["steps"]
        order = ["before", "after.nodes"]
        lines = []
        for step in (s for s in steps if s["gate"] == "load_errors"):
            text = snapshot(order.index(step["name"]) if step["name"] in order else len(order) + self.plays)
            lines.append(asdict(RawRecord(step["gate"], step["name"], step["tool"], name, tuple(step["argv"]), "2026", 1.0, 0, text, "")))
        return "".join(json.dumps(line) + "\n" for line in lines)
