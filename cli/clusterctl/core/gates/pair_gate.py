"""Gates of a pair: every two nodes, each HCA with the HCA of the same rail at the other node."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, ClassVar, TypeVar

from pydantic import Field

from clusterctl.core.gates.gate import Gate, Scope
from clusterctl.core.gates.judging.attribution import Graph
from clusterctl.core.gates.judging.links import links_of, lost_links
from clusterctl.core.gates.judging.pair_verdicts import device_result
from clusterctl.core.gates.planning.pair_steps import PairPlanner
from clusterctl.core.gates.planning.step import GateStep, GateSteps, Obstacle, Rendezvous
from clusterctl.core.gates.settings import Count, GateSettings, Seconds
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.level import Level  # noqa: TC001 pydantic evaluates the annotations

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clusterctl.core.gates.judging.evidence import Evidence
    from clusterctl.core.gates.planning.devices import Hca
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import GateResult, Sample


class PairSettings(GateSettings):
    """What pair gates share.

    Attributes:
        rounds: how many tournament rounds; 0 = all, so that every node meets every other.
        base_port: rail k listens on base_port + 1 + (2 * round + turn) * rails + k; base_port itself is the agents' own.
        timeout_s: for one turn, from the moment both nodes have reached the round.
        peer_wait_s: how long a node whose agent never answered is waited for.
        pin: bind both sides to the CPUs of their HCA's NUMA node and to the memory of its socket, as sysfs names them.
    """

    rounds: Count | dict[Level, Count] = {"quick": 3, "standard": 0, "full": 0}
    base_port: Annotated[int, Field(ge=1024, le=60000)] = 18514
    timeout_s: Seconds | dict[Level, Seconds] = 90
    peer_wait_s: Seconds = 120
    pin: bool = True


P = TypeVar("P", bound=PairSettings)


class PairGate(Gate[P]):
    """A gate between two HCAs, one the server and one the client.

    Attributes:
        metric: the figure of the client's output that is judged; its unit is in `units`.
    """

    scope: ClassVar[Scope] = Scope.PAIR
    metric: ClassVar[str]

    @abstractmethod
    def argv(self, settings: P, level: Level, hca: Hca, port: int, server: str) -> tuple[str, ...]:
        """The command line of one side; `server` is the address that the client connects to, empty on the server."""

    @abstractmethod
    def operation(self, settings: P) -> str:
        """The operation that is measured; baselines of another one do not apply."""

    def is_planned(self, settings: P, device: str, sample: Sample) -> bool:  # noqa: ARG002 for gates to override
        """Whether a sample is of the run that the settings plan for `device`, as far as the tool prints what it ran."""
        return sample.op in ("", self.operation(settings))

    @abstractmethod
    def slow_hint(self, hca: Hca, values: Sequence[float], again: str) -> str:
        """What to do about an HCA that is at fault; `values` in the metric's unit, `again` is the command that measures it again."""

    @property
    def unit(self) -> str:
        """Of the metric."""
        return self.units[self.metric]

    def plan(self, subjects: Sequence[Subject], level: Level, batches: Iterator[int]) -> GateSteps:
        """The tournament of all nodes under the settings of the first."""
        if len(subjects) == 1:
            name = subjects[0].name
            hint = f"add a known-good one: `clusterctl burnin {name} --partners NODE`"
            return GateSteps({}, {name: Obstacle(GateReason.NO_PARTNER, f"{self.name} needs a second node", hint)})
        settings = subjects[0].profile.settings_of(self)
        steps: dict[str, list[GateStep]] = {}
        for name, step in PairPlanner(self, settings, level, tuple(subjects)).steps(batches):
            steps.setdefault(name, []).append(step)
        obstacles = {s.name: Obstacle(GateReason.NO_DEVICE, "hardware_hcas declares no HCA") for s in subjects if not s.hcas}
        rendezvous = Rendezvous(settings.base_port, settings.peer_wait_s)
        return GateSteps({name: tuple(own) for name, own in steps.items()}, obstacles, rendezvous)

    def judge(self, evidence: Evidence) -> tuple[GateResult, ...]:
        """A result for every HCA of every judged node that has records.

        Where the profile declares all rounds, two HCAs of a rail that have no record of each other are a run that got lost.
        """
        trusted = [s.name for s in evidence.subjects.values() if s.partner]
        taking = {r.node for r in evidence.records}
        links = links_of(self, evidence)
        lost = lost_links(self, [s for s in evidence.subjects.values() if s.name in taking], links, evidence.level)
        graph = Graph((*links, *lost), trusted)
        simulated = any(r.simulated for r in evidence.records)
        judged = [s for s in evidence.judged if s.name in taking]
        return tuple(device_result(self, graph, s, h, len(taking), simulated=simulated) for s in judged for h in s.hcas)
