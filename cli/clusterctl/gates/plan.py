"""Nodes + level -> what every node runs, when, with whom. Pure: the same input gives the same plan."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from clusterctl.gates import commands
from clusterctl.gates.devices import gpus_of, hcas_of
from clusterctl.gates.pairs import PairPlanner
from clusterctl.gates.settings import GATES, GROUP_GATES, NODE_GATES, PAIR_GATES, Level, RdmaPairSettings, at_level
from clusterctl.gates.step import Side, Step

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.gates.profile import GatesProfile
    from clusterctl.node import Node


@dataclass(frozen=True, slots=True)
class GatePlan:
    """The steps of every node.

    Attributes:
        impossible: (gate, node) -> why nothing can be measured there, and what to do.
        control_port: where agents tell each other how far they are.
        peer_wait_s: how long an agent that never answered is waited for.
    """

    level: Level
    gates: tuple[str, ...]
    steps: Mapping[str, tuple[Step, ...]]
    impossible: Mapping[tuple[str, str], str]
    control_port: int
    peer_wait_s: int

    @property
    def limit_s(self) -> int:
        """The longest a node may take: all its batches at their time limits, twice waiting for peers, and a margin."""
        return max((_longest(s) for s in self.steps.values()), default=0) + 2 * self.peer_wait_s + 60


def _longest(steps: Sequence[Step]) -> int:
    longest: dict[int, int] = {}
    for step in steps:
        longest[step.batch] = max(longest.get(step.batch, 0), step.timeout_s)
    return sum(longest.values())


def make_plan(nodes: Sequence[Node], profiles: Mapping[str, GatesProfile], level: Level, gates: Sequence[str]) -> GatePlan:
    """Plan `gates` for `nodes` (those to judge and their partners alike).

    A gate is planned for the nodes whose profile has it at this level; a pair or group that lacks its second node is noted
    in `impossible`.

    Raises:
        ConfigError: the ports of the pair schedule do not fit below 65536.
    """
    steps: dict[str, list[Step]] = {n.name: [] for n in nodes}
    impossible: dict[tuple[str, str], str] = {}
    batches = count()
    for gate in (g for g in GATES if g in gates):
        taking = [n for n in nodes if gate in profiles[n.name].levels[level]]
        if not taking:
            continue
        if gate in NODE_GATES:
            number = next(batches)
            for node in taking:
                steps[node.name].append(_solo(gate, node, profiles[node.name], level, number))
        elif len(taking) < 2:  # noqa: PLR2004 a pair
            impossible[gate, taking[0].name] = _lonely(gate, taking[0].name)
        elif gate in PAIR_GATES:
            impossible |= {(gate, n.name): "hardware_hcas declares no HCA" for n in taking if not hcas_of(n)}
            for name, step in PairPlanner(profiles[taking[0].name].settings.rdma_pair, level, tuple(taking), profiles).steps(batches):
                steps[name].append(step)
        elif gate in GROUP_GATES:
            step = _group(gate, taking, profiles[taking[0].name], level, next(batches))
            steps[taking[0].name].append(step)
    settings = profiles[nodes[0].name].settings.rdma_pair if nodes else RdmaPairSettings()
    taken = {name: tuple(own) for name, own in steps.items()}
    return GatePlan(level, tuple(gates), taken, impossible, settings.base_port, settings.peer_wait_s)


def _lonely(gate: str, name: str) -> str:
    return f"{gate} needs a second node; add a known-good one: `clusterctl burnin {name} --partners NODE`"


def _solo(gate: str, node: Node, profile: GatesProfile, level: Level, batch: int) -> Step:
    settings = profile.settings
    if gate == "dcgm_diag":
        argv, tool = commands.dcgm_diag(settings.dcgm_diag, level), "dcgmi_diag"
        timeout_s = at_level(settings.dcgm_diag.timeout_s, level)
    elif gate == "nvbandwidth":
        argv, tool, timeout_s = commands.nvbandwidth(settings.nvbandwidth), "nvbandwidth", settings.nvbandwidth.timeout_s
    else:
        argv, tool = commands.nccl_node(settings.nccl_node, level, gpus_of(node)), "nccl_tests"
        timeout_s = settings.nccl_node.timeout_s
    return Step(gate, "solo", tool, Side.SOLO, argv, timeout_s, batch, version_argv=commands.VERSION_ARGV[tool])


def _group(gate: str, nodes: Sequence[Node], profile: GatesProfile, level: Level, batch: int) -> Step:
    settings = profile.settings.nccl_group
    hosts = [(n.connection.host, gpus_of(n)) for n in nodes]
    argv = commands.nccl_group(settings, level, hosts)
    version = commands.VERSION_ARGV["nccl_tests"]
    names = tuple(n.name for n in nodes)
    return Step(gate, "group", "nccl_tests", Side.SOLO, argv, settings.timeout_s, batch, peers=names, version_argv=version)
