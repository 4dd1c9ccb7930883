"""Nodes + level -> what every node runs, when, with whom. Pure: the same input gives the same plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from clusterctl.core.gates import commands
from clusterctl.core.gates.devices import gpus_of, hcas_of
from clusterctl.core.gates.pairs import PairPlanner
from clusterctl.core.gates.settings import GATES, GROUP_GATES, NODE_GATES, PAIR_GATES, RdmaPairSettings, at_level
from clusterctl.core.gates.step import GateStep, Side

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.core.gates.gates_profile import GatesProfile
    from clusterctl.model.level import Level
    from clusterctl.model.node import Node


@dataclass(frozen=True, slots=True)
class GatePlan:
    """The steps of every node.

    Attributes:
        impossible: (gate, node) -> why nothing can be measured there, and what to do.
        control_port: where agents tell each other how far they are.
        peer_wait_s: how long an agent that never answered is waited for.
        nvlink_groups: node -> addresses of all nodes whose GPUs its own are joined to over NVLink; processes there need IMEX and a channel of it.
    """

    level: Level
    gates: tuple[str, ...]
    steps: Mapping[str, tuple[GateStep, ...]]
    impossible: Mapping[tuple[str, str], str]
    control_port: int
    peer_wait_s: int
    nvlink_groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def busy(self) -> tuple[str, ...]:
        """The nodes that run something, or have to be prepared for what another one runs."""
        return tuple(name for name, steps in self.steps.items() if steps or name in self.nvlink_groups)

    @property
    def limit_s(self) -> int:
        """The longest a node may take: all its batches at their time limits, twice waiting for peers, and a margin."""
        return max((_longest(s) for s in self.steps.values()), default=0) + 2 * self.peer_wait_s + 60


def _longest(steps: Sequence[GateStep]) -> int:
    longest: dict[int, int] = {}
    for step in steps:
        longest[step.batch] = max(longest.get(step.batch, 0), step.timeout_s)
    return sum(longest.values())


def plan_gates(nodes: Sequence[Node], profiles: Mapping[str, GatesProfile], level: Level, gates: Sequence[str]) -> GatePlan:
    """Plan `gates` for `nodes` (those to judge and their partners alike).

    A gate is planned for the nodes whose profile has it at this level; a pair or group that lacks its second node is noted
    in `impossible`.

    Raises:
        ConfigError: the ports of the pair schedule do not fit below 65536.
    """
    steps: dict[str, list[GateStep]] = {n.name: [] for n in nodes}
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
            groups, alone = _groups(taking, profiles)
            impossible |= {(gate, n.name): _alone(gate, n) for n in alone}
            number = next(batches)
            for members in groups:
                steps[members[0].name].append(_group(gate, members, profiles[members[0].name], level, number))
    settings = profiles[nodes[0].name].settings.rdma_pair if nodes else RdmaPairSettings()
    taken = {name: tuple(own) for name, own in steps.items()}
    return GatePlan(
        level, tuple(gates), taken, impossible, settings.base_port, settings.peer_wait_s, _nvlink_groups(nodes, taken, profiles)
    )


def _lonely(gate: str, name: str) -> str:
    return f"{gate} needs a second node; add a known-good one: `clusterctl burnin {name} --partners NODE`"


def _groups(nodes: Sequence[Node], profiles: Mapping[str, GatesProfile]) -> tuple[list[list[Node]], list[Node]]:
    """All nodes of the network are one group; where the group is joined by NVLink, each NVLink domain is one. With them, nodes that are left alone."""
    groups: dict[str, list[Node]] = {}
    for node in nodes:
        domain = node.place.domain if profiles[node.name].settings.nccl_group.over_nvlink else ""
        groups.setdefault(domain, []).append(node)
    return [g for g in groups.values() if len(g) > 1], [g[0] for g in groups.values() if len(g) == 1]


def _nvlink_groups(
    nodes: Sequence[Node], steps: Mapping[str, Sequence[GateStep]], profiles: Mapping[str, GatesProfile]
) -> dict[str, tuple[str, ...]]:
    address = {n.name: profiles[n.name].peer_address or n.connection.host for n in nodes}
    leads = (own for name, own in steps.items() if profiles[name].settings.nccl_group.over_nvlink)
    groups = [step.peers for own in leads for step in own if step.gate in GROUP_GATES]
    return {name: tuple(address[n] for n in members) for members in groups for name in members}


def _alone(gate: str, node: Node) -> str:
    return f"{gate} needs a second node of {node.place.domain}; add a known-good one: `clusterctl burnin {node.name} --partners NODE`"


def _solo(gate: str, node: Node, profile: GatesProfile, level: Level, batch: int) -> GateStep:
    settings = profile.settings
    if gate == "dcgm_diag":
        argv, tool = commands.dcgm_diag(settings.dcgm_diag, level), "dcgmi_diag"
        timeout_s = at_level(settings.dcgm_diag.timeout_s, level)
    elif gate == "nvbandwidth":
        argv, tool, timeout_s = commands.nvbandwidth(settings.nvbandwidth), "nvbandwidth", settings.nvbandwidth.timeout_s
    else:
        argv, tool = commands.nccl_node(settings.nccl_node, level, gpus_of(node)), "nccl_tests"
        timeout_s = settings.nccl_node.timeout_s
    return GateStep(gate, "solo", tool, Side.SOLO, argv, timeout_s, batch, version_argv=commands.VERSION_ARGV[tool])


def _group(gate: str, nodes: Sequence[Node], profile: GatesProfile, level: Level, batch: int) -> GateStep:
    settings = profile.settings.nccl_group
    hosts = [(n.connection.host, gpus_of(n)) for n in nodes]
    argv = commands.nccl_group(settings, level, hosts)
    version = commands.VERSION_ARGV["nccl_tests"]
    names = tuple(n.name for n in nodes)
    return GateStep(gate, "group", "nccl_tests", Side.SOLO, argv, settings.timeout_s, batch, peers=names, version_argv=version)
