"""The same on real agents: 32 light nodes on loopback addresses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest import mock

from clusterctl.adapters.config import Config
from clusterctl.adapters.run_directory import RunDir
from clusterctl.model.gate_result import Outcome
from clusterctl.model.node import Place
from clusterctl.workflows.burnin import measure
from clusterctl.workflows.burnin import measure_and_judge as burnin
from support.agents import address_of
from support.gates import TODAY, gates, node
from support.simulated_pairs import SimulatedPairs

if TYPE_CHECKING:
    from pathlib import Path

_NODES, _LEAVES, _BAD = 32, 4, ("n7", "n13", "n30")


def on_real_agents(folder: Path) -> dict[str, Any]:
    """A burn-in of pairs, with three bad HCAs."""
    pairs = SimulatedPairs(folder, dict.fromkeys(_BAD, 196.0))
    declared = gates(gates_settings={"rdma_pair": {"duration_s": 1, "timeout_s": 60, "base_port": 21000}})
    some = [
        replace(node(f"n{i}", rails=1, declared=declared, host=address_of(f"n{i}")), place=Place(leaf=f"leaf{i % _LEAVES}"))
        for i in range(1, _NODES + 1)
    ]
    with mock.patch.object(measure, "run_playbook", pairs.play), mock.patch.object(burnin, "_today", return_value=TODAY):
        rundir = RunDir.create(folder, "burnin")
        results = burnin.run_burnin(burnin.subjects_of(some), rundir, Config(folder, (), folder), "standard", gates=["rdma_pair"])
    return {
        "nodes": _NODES,
        "bad": sorted(_BAD),
        "marked_faulty": sorted({r.node for r in results if r.outcome is Outcome.FAIL}),
        "not_passed": sorted({r.node for r in results if r.outcome is not Outcome.PASS}),
        "rounds": len({name for name in pairs.rounds if name.startswith(("round", "again"))}),
        "nodes_measured_again": len(pairs.plays[1]),
    }
