"""Stands in for the playbook of a burn-in of pairs: real agents on loopback addresses, which run a program that talks TCP as perftest does."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl.model.gate_result import RawRecord
from clusterctl.model.playbook_result import HostOutcome, HostStatus, PlaybookResult, PlaybookStatus
from support.agents import AgentNode, address_of
from support.gates import perftest, snapshot
from support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.adapters.ansible.runner import PlaybookRequest

# Both sides exchange what their HCA can do, and print the table of the slower one.
PROGRAM = """#!{python}
import json, os, socket, sys
words = sys.argv[1:]
name, device, port = os.environ["LAB_NODE"], words[words.index("-d") + 1], int(words[words.index("-p") + 1])
with open({rates!r}) as file:
    own = json.load(file).get(name, 392.0)
own_address = "127.0.0." + name[1:]
server = words[-1] if words[-1].startswith("127.") else ""
if server:
    try:
        peer = socket.create_connection((server, port), 10, source_address=(own_address, 0))
    except OSError:
        sys.exit("Couldn't connect to " + server + ":" + str(port))
else:
    with socket.create_server((own_address, port)) as listening:
        listening.settimeout(30)
        peer = listening.accept()[0]
peer.sendall(b"%.2f\\n" % own)
theirs = float(peer.makefile().readline())
with open({table!r}) as file:
    print(file.read().replace("DEVICE", device).replace("777.00", "%.2f" % min(own, theirs)))
"""
MEASURED = "rdma_pair"


class SimulatedPairs:
    """Plays `burnin.yml` on nodes `n<i>` at 127.0.0.<i>, whose HCAs read `gbps` or 392 Gb/s.

    Attributes:
        rounds: the names of all steps that ran, without rail, turn and side.
    """

    def __init__(self, folder: Path, gbps: Mapping[str, float]) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        (folder / "rates.json").write_text(json.dumps(gbps))
        (folder / "table").write_text(perftest(777.0, device="DEVICE"))
        program = self.bin / "ib_write_bw"
        program.write_text(PROGRAM.format(python=sys.executable, rates=str(folder / "rates.json"), table=str(folder / "table")))
        program.chmod(0o755)
        self.plays: list[tuple[str, ...]] = []
        self.rounds: set[str] = set()

    def play(self, request: PlaybookRequest, artifacts: Path, on_event: object = None) -> PlaybookResult:
        """Run the plans of the nodes and bring their records."""
        assert request.extra_vars_file is not None
        variables = json.loads(request.extra_vars_file.read_text())
        self.plays.append(tuple(request.nodes))
        folder, port = self.folder / f"play{len(self.plays)}", free_port()
        folder.mkdir()
        plans = {name: json.loads((Path(variables["burnin_plan_dir"]) / f"{name}.json").read_text()) for name in request.nodes}
        agents = {name: self.agent(folder, port, plan) for name, plan in plans.items()}
        for name, agent in agents.items():
            assert agent.process is not None
            assert agent.process.wait(300) == 0
            self.rounds |= {step.partition(".")[0] for step in agent.records}
            lines = (agent.folder / "records.jsonl").read_text() + self.snapshots(plans[name])
            (Path(variables["burnin_records_dir"]) / f"{name}.jsonl").write_text(lines)
        hosts = {name: HostOutcome(name, HostStatus.OK) for name in request.nodes}
        return PlaybookResult(PlaybookStatus.COMPLETED, hosts, "ansible-playbook", 1.0, "")

    def agent(self, folder: Path, port: int, plan: dict[str, object]) -> AgentNode:
        """A node whose agent runs its pairs."""
        name = str(plan["node"])
        steps = [{**s, "near": "", "exclusive": False} for s in plan["steps"] if s["gate"] == MEASURED]  # type: ignore[attr-defined]
        changed = {"listen": address_of(name), "lock": str(folder / f"{name}.lock"), "peer_wait_s": 120}
        own = {k: v for k, v in {**plan, **changed}.items() if k not in ("node", "steps", "control_port")}
        environment = {**os.environ, "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}", "LAB_NODE": name}
        return AgentNode(folder, name, port, steps, environment, **own).start()

    def snapshots(self, plan: dict[str, object]) -> str:
        """What load_errors found: nothing wrong."""
        lines = []
        for step in (s for s in plan["steps"] if s["gate"] == "load_errors"):  # type: ignore[attr-defined]
            minutes = 0 if step["name"] == "before" else len(self.plays)
            text = snapshot(minutes)
            lines.append(
                asdict(
                    RawRecord(step["gate"], step["name"], step["tool"], str(plan["node"]), tuple(step["argv"]), "2026", 1.0, 0, text, "")
                )
            )
        return "".join(json.dumps(line) + "\n" for line in lines)
