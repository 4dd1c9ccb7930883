"""The steps of a pair gate: every two nodes, every rail, round by round, in both directions. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.planning.schedule import matchings, number_of_rounds
from clusterctl.core.gates.planning.step import AGAIN, GateStep, ServerPlace, Side
from clusterctl.core.gates.settings import at_level
from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clusterctl.core.gates.pair_gate import PairGate, PairSettings
    from clusterctl.core.gates.planning.devices import Hca
    from clusterctl.core.gates.planning.second_stage import Retest
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.level import Level

_LAST_PORT = 65535
# The turns of a meeting: what is the server in one is the client in the other, so that each end sends and receives.
TURNS = ("turn1", "turn2")
# The first stage of a pair gate, as its steps are named: everybody.
FIRST = "round"


@dataclass(frozen=True, slots=True)
class PairPlanner:
    """Plans a pair gate among `subjects` under one profile's settings."""

    gate: PairGate[Any]
    settings: PairSettings
    level: Level
    subjects: tuple[Subject, ...]

    def steps(self, batches: Iterator[int], seed: str) -> Iterator[tuple[str, GateStep]]:
        """(node, step) for both sides of every turn of every meeting; one batch per turn of a round.

        Raises:
            ConfigError: the ports do not fit below 65536.
        """
        rails = self._rails
        rounds = matchings(self.subjects, lambda s: s.node.place.switch, at_level(self.settings.rounds, self.level), seed)
        yield from self._of_rounds([[(one, other, rails) for one, other in pairs] for pairs in rounds], FIRST, 0, batches)

    def again(self, rounds: Sequence[Sequence[Retest]], batches: Iterator[int]) -> Iterator[tuple[str, GateStep]]:
        """The same for the rounds of the second stage, on the ports after those of the first.

        Raises:
            ConfigError: the ports do not fit below 65536.
        """
        named = {s.name: s for s in self.subjects}
        first = number_of_rounds(len(self.subjects), at_level(self.settings.rounds, self.level))
        meetings = [[(named[r.suspect], named[r.partner], r.rails) for r in own] for own in rounds]
        yield from self._of_rounds(meetings, AGAIN, first, batches)

    @property
    def _rails(self) -> tuple[int, ...]:
        return tuple(sorted({h.rail for s in self.subjects for h in s.hcas}))

    def _of_rounds(
        self, rounds: Sequence[Sequence[tuple[Subject, Subject, Sequence[int]]]], kind: str, first: int, batches: Iterator[int]
    ) -> Iterator[tuple[str, GateStep]]:
        hcas = {s.name: {h.rail: h for h in s.hcas} for s in self.subjects}
        rails = self._rails
        self._check_ports((first + len(rounds)) * len(TURNS) * len(rails))
        for (number, meetings), (index, turn) in product(enumerate(rounds, first), enumerate(TURNS)):
            batch = next(batches)
            for one, other, chosen in meetings:
                server, client = (other, one) if index else (one, other)
                for rail in (r for r in chosen if r in hcas[server.name] and r in hcas[client.name]):
                    port = self.settings.base_port + 1 + (number * len(TURNS) + index) * len(rails) + rails.index(rail)
                    ends = (server, client, hcas[server.name][rail], hcas[client.name][rail])
                    meeting = _Meeting(f"{kind}{number}.rail{rail}.{turn}", number, batch, port, *ends)
                    yield server.name, self._side(meeting, Side.SERVER)
                    yield client.name, self._side(meeting, Side.CLIENT)

    def _check_ports(self, needed: int) -> None:
        if self.settings.base_port + needed > _LAST_PORT:
            path = f"gates_settings.{self.gate.name}"
            raise ConfigError(
                detail=f"{path}.base_port: {len(self.subjects)} nodes need {needed} ports from {self.settings.base_port}",
                hint=f"lower base_port, or limit {path}.rounds",
            )

    def _side(self, meeting: _Meeting, side: Side) -> GateStep:
        own, other = meeting.server_hca, meeting.client_hca
        peer = meeting.client
        if side is Side.CLIENT:
            own, other, peer = other, own, meeting.server
        place = ServerPlace(meeting.server.address, meeting.port, side is Side.SERVER)
        return GateStep(
            gate=self.gate.name,
            name=f"{meeting.name}.{side}",
            tool=self.gate.tool,
            side=side,
            argv=self.gate.argv(self.settings, self.level, own, place),
            timeout_s=at_level(self.settings.timeout_s, self.level),
            batch=meeting.batch,
            round=meeting.round,
            device=own.name,
            peer=peer.name,
            peer_device=other.name,
            peer_address=peer.address,
            port=meeting.port,
            version_argv=self.gate.version_argv(self.settings),
            near=own.device if self.settings.pin else "",
            exclusive=True,
            shares_with=self.gate.shares_with(meeting.client if side is Side.CLIENT else meeting.server),
        )


@dataclass(frozen=True, slots=True)
class _Meeting:
    name: str
    round: int
    batch: int
    port: int
    server: Subject
    client: Subject
    server_hca: Hca
    client_hca: Hca
