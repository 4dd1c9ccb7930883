"""Gates of a pair: nodes two by two, each HCA with the HCA of the same rail at the other node; then suspects with proven partners."""

from __future__ import annotations

from abc import abstractmethod
from itertools import chain
from typing import TYPE_CHECKING, Annotated, ClassVar, TypeVar

from pydantic import Field

from clusterctl.core.gates.gate import Gate, Scope
from clusterctl.core.gates.judging.attribution import Graph
from clusterctl.core.gates.judging.limits import limit_text
from clusterctl.core.gates.judging.links import links_of, lost_links
from clusterctl.core.gates.judging.own_history import against_history
from clusterctl.core.gates.judging.pair_findings import PairFindings, findings_of
from clusterctl.core.gates.judging.pair_verdicts import device_result
from clusterctl.core.gates.judging.peers import FAIL, WARN, classes_of, versions_of
from clusterctl.core.gates.judging.shared_faults import DevicePlaces
from clusterctl.core.gates.planning.pair_steps import PairPlanner
from clusterctl.core.gates.planning.second_stage import SecondStage
from clusterctl.core.gates.planning.step import GateStep, GateSteps, Obstacle, Rendezvous
from clusterctl.core.gates.settings import Count, GateSettings, Seconds
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Figure
from clusterctl.model.level import Level  # noqa: TC001 pydantic evaluates the annotations

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clusterctl.core.gates.judging.attribution import End
    from clusterctl.core.gates.judging.evidence import Evidence
    from clusterctl.core.gates.planning.devices import Hca
    from clusterctl.core.gates.planning.step import ServerPlace
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import GateResult, Sample


class PairSettings(GateSettings):
    """What pair gates share.

    Attributes:
        rounds: how many rounds of random pairs, the first inside leaves, the others across them; suspects are measured again in at most three more.
            0 = all, so that every node meets every other.
        base_port: rail k listens on base_port + 1 + (2 * round + turn) * rails + k; base_port itself is the agents' own.
        timeout_s: for one turn, from the moment both nodes have reached the round.
        peer_wait_s: how long a node whose agent never answered is waited for.
        pin: bind both sides to the CPUs of their HCA's NUMA node and to the memory of its socket, as sysfs names them.
    """

    rounds: Count | dict[Level, Count] = 3
    base_port: Annotated[int, Field(ge=1024, le=60000)] = 18514
    timeout_s: Seconds | dict[Level, Seconds] = 90
    peer_wait_s: Seconds = 120
    pin: bool = True


P = TypeVar("P", bound=PairSettings)


class PairGate(Gate[P]):
    """A gate between two HCAs, one the server and one the client.

    Attributes:
        metric: the figure of the client's output that is judged; its unit is in `units`.
        shown_beside: a figure of the same output and unit that is shown and not judged; empty for none. beside_label: what it is, for people.
        two_of_three: a device fails where two thirds of its measurements fail, two at least. False: where those with both partners of the second stage fail.
        peers_fail, peers_warn: z and the share of the median beyond which a device is worse than its peers; both must be exceeded.
        decimals: of figures for people.
    """

    scope: ClassVar[Scope] = Scope.PAIR
    metric: ClassVar[str]
    shown_beside: ClassVar[str] = ""
    beside_label: ClassVar[str] = ""
    two_of_three: ClassVar[bool] = False
    peers_fail: ClassVar[tuple[float, float]] = FAIL
    peers_warn: ClassVar[tuple[float, float]] = WARN
    decimals: ClassVar[int] = 1

    @abstractmethod
    def argv(self, settings: P, level: Level, hca: Hca, server: ServerPlace) -> tuple[str, ...]:
        """The command line of one side."""

    @abstractmethod
    def operation(self, settings: P) -> str:
        """The operation that is measured; baselines of another one do not apply."""

    def is_planned(self, settings: P, device: str, sample: Sample) -> bool:  # noqa: ARG002 for gates to override
        """Whether a sample is of the run that the settings plan for `device`, as far as the tool prints what it ran."""
        return sample.op in ("", self.operation(settings))

    @abstractmethod
    def slow_hint(self, hca: Hca, values: Sequence[float], again: str) -> str:
        """What to do about an HCA that is at fault; `values` in the metric's unit, `again` is the command that measures it again."""

    def node_hint(self, node: str) -> str:
        """What to look at where all HCAs of a node are at fault, which no cable explains."""
        return f"check root complex, BIOS and ACS of {node} (`lspci -vvv`)"

    def limited_figures(self, settings: P) -> tuple[Figure, ...]:
        """Of its outputs one figure is judged."""
        return (Figure(self.name, self.metric, self.unit, self.operation(settings)),)

    def text(self, value: float) -> str:
        """A figure with its unit, for people."""
        return f"{limit_text(value, self.decimals)} {self.unit}"

    @property
    def unit(self) -> str:
        """Of the metric."""
        return self.units[self.metric]

    def plan(self, subjects: Sequence[Subject], level: Level, batches: Iterator[int]) -> GateSteps:
        """The pairs that an empty seed gives."""
        return self.plan_pairs(subjects, level, batches, "")

    def plan_pairs(self, subjects: Sequence[Subject], level: Level, batches: Iterator[int], seed: str) -> GateSteps:
        """The first stage, of all nodes under the settings of the first; each seed gives other pairs."""
        if len(subjects) == 1:
            name = subjects[0].name
            hint = f"add a known-good one: `clusterctl burnin {name} --partners NODE`"
            return GateSteps({}, {name: Obstacle(GateReason.NO_PARTNER, f"{self.name} needs a second node", hint)})
        planner = PairPlanner(self, subjects[0].profile.settings_of(self), level, tuple(subjects))
        obstacles = {s.name: Obstacle(GateReason.NO_DEVICE, "hardware_hcas declares no HCA") for s in subjects if not s.hcas}
        return self._steps(planner, planner.steps(batches, seed), obstacles)

    def plan_pairs_again(self, subjects: Sequence[Subject], evidence: Evidence, batches: Iterator[int], seed: str) -> GateSteps:
        """The second stage: the devices that the first left without a proof, and those far below their own earlier runs, each with two different proven partners.

        None where there is nothing to find out.
        """
        findings = self._findings(evidence)
        low = self._below_history(evidence)
        suspects = {end: findings.rail(end) for end in (*findings.to_measure_again(), *low)}
        proven = {end: findings.rail(end) for end in findings.good_partners() if end not in low}
        leaves = {s.name: s.node.place.switch for s in subjects}
        met = {frozenset((r.node, r.peer)) for r in evidence.records}
        rounds = SecondStage(_by_node(suspects), _by_node(proven), leaves, met).rounds(seed)
        planner = PairPlanner(self, subjects[0].profile.settings_of(self), evidence.level, tuple(subjects))
        return self._steps(planner, planner.again(rounds, batches), {})

    def judge(self, evidence: Evidence) -> tuple[GateResult, ...]:
        """A result for every HCA of every judged node that has records.

        Where the profile's rounds are enough for everybody to meet, two HCAs of a rail that have no record of each other are a run that got lost.
        """
        taking = {r.node for r in evidence.records}
        findings = self._findings(evidence)
        simulated = any(r.simulated for r in evidence.records)
        judged = [s for s in evidence.judged if s.name in taking]
        verdicts = (device_result(self, findings, s, h, len(taking), simulated=simulated) for s in judged for h in s.hcas)
        compared = (
            against_history(v, evidence.usual, (v.device,) if findings.was_repeated((v.node, v.device)) else None) for v in verdicts
        )
        return tuple(chain.from_iterable(compared))

    def _below_history(self, evidence: Evidence) -> tuple[End, ...]:
        """The devices that pass and are far below their own earlier runs."""
        return tuple((r.node, r.device) for r in (self.judge(evidence) if evidence.usual else ()) if r.reason is GateReason.BELOW_HISTORY)

    def _findings(self, evidence: Evidence) -> PairFindings:
        trusted = [s.name for s in evidence.subjects.values() if s.partner]
        links = links_of(self, evidence)
        lost = lost_links(self, evidence, links)
        rails = {(s.name, h.name): h.rail for s in evidence.subjects.values() for h in s.hcas}
        known = [link for link in (*links, *lost) if link.one in rails and link.other in rails]
        topology = DevicePlaces({s.name: s.node.place for s in evidence.subjects.values()}, rails)
        graph = Graph(known, trusted, two_of_three=self.two_of_three)
        return findings_of(graph, topology, classes_of(rails, evidence), versions_of(evidence), self.direction)

    def _steps(self, planner: PairPlanner, planned: Iterator[tuple[str, GateStep]], obstacles: Mapping[str, Obstacle]) -> GateSteps:
        steps: dict[str, list[GateStep]] = {}
        for name, step in planned:
            steps.setdefault(name, []).append(step)
        rendezvous = Rendezvous(planner.settings.base_port, planner.settings.peer_wait_s)
        return GateSteps({name: tuple(own) for name, own in steps.items()}, obstacles, rendezvous)


def _by_node(rails: Mapping[End, int]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for (node, _), rail in rails.items():
        found.setdefault(node, set()).add(rail)
    return found
