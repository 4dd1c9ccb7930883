"""The pair schedule: every two nodes, every rail, round by round. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.core.gates import commands
from clusterctl.core.gates.devices import hcas_of
from clusterctl.core.gates.schedule import tournament
from clusterctl.core.gates.settings import RdmaPairSettings, at_level
from clusterctl.core.gates.step import GateStep, Side
from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clusterctl.core.gates.devices import Hca
    from clusterctl.core.gates.gates_profile import GatesProfile
    from clusterctl.model.level import Level
    from clusterctl.model.node import Node

_LAST_PORT = 65535


@dataclass(frozen=True, slots=True)
class PairPlanner:
    """Plans `rdma_pair` among `nodes` under one profile's settings."""

    settings: RdmaPairSettings
    level: Level
    nodes: tuple[Node, ...]
    profiles: Mapping[str, GatesProfile]

    def steps(self, batches: Iterator[int]) -> Iterator[tuple[str, GateStep]]:
        """(node, step) for both sides of every meeting; one batch per round.

        Raises:
            ConfigError: the ports do not fit below 65536.
        """
        hcas = {n.name: {h.rail: h for h in hcas_of(n)} for n in self.nodes}
        rails = sorted({rail for own in hcas.values() for rail in own})
        rounds = tournament(self.nodes)[: at_level(self.settings.rounds, self.level) or None]
        self._check_ports(len(rounds) * len(rails))
        for number, pairs in enumerate(rounds):
            batch = next(batches)
            for server, client in pairs:
                for index, rail in enumerate(rails):
                    if rail in hcas[server.name] and rail in hcas[client.name]:
                        port = self.settings.base_port + 1 + number * len(rails) + index
                        meeting = _Meeting(number, batch, port, server, client, hcas[server.name][rail], hcas[client.name][rail])
                        yield server.name, self._side(meeting, Side.SERVER)
                        yield client.name, self._side(meeting, Side.CLIENT)

    def _check_ports(self, needed: int) -> None:
        if self.settings.base_port + needed > _LAST_PORT:
            raise ConfigError(
                detail=f"gates_settings.rdma_pair.base_port: {len(self.nodes)} nodes need {needed} ports from {self.settings.base_port}",
                hint="lower base_port, or limit gates_settings.rdma_pair.rounds",
            )

    def _side(self, meeting: _Meeting, side: Side) -> GateStep:
        own, other = meeting.server_hca, meeting.client_hca
        peer = meeting.client
        if side is Side.CLIENT:
            own, other, peer = other, own, meeting.server
        address = self.profiles[peer.name].peer_address or peer.connection.host
        argv = commands.rdma_side(self.settings, self.level, own, meeting.port, address if side is Side.CLIENT else "")
        return GateStep(
            gate="rdma_pair",
            name=f"round{meeting.round}.rail{own.rail}.{side}",
            tool="perftest",
            side=side,
            argv=argv,
            timeout_s=self.settings.timeout_s,
            batch=meeting.batch,
            round=meeting.round,
            device=own.name,
            peer=peer.name,
            peer_device=other.name,
            peer_address=address,
            port=meeting.port,
            version_argv=commands.VERSION_ARGV[self.settings.test],
        )


@dataclass(frozen=True, slots=True)
class _Meeting:
    round: int
    batch: int
    port: int
    server: Node
    client: Node
    server_hca: Hca
    client_hca: Hca
