"""What the links of all pairs show together: proven devices, suspects, and what several low ones share. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.core.gates.judging.attribution import End, Graph, Link, LinkState
from clusterctl.core.gates.judging.peers import standings
from clusterctl.core.gates.judging.shared_faults import DevicePlaces, SharedFault, SharedPart, path_faults, shared_faults
from clusterctl.core.gates.judging.uplink_faults import uplink_faults

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from clusterctl.core.gates.judging.direction import Direction
    from clusterctl.core.gates.judging.peers import Standing

# Parts that are not devices: what is behind them is neither proven nor at fault.
_SWITCHES = (SharedPart.UPLINKS, SharedPart.RAIL_SWITCH)


@dataclass(frozen=True, slots=True)
class PairFindings:
    """The links of a gate and what they show.

    Attributes:
        behind: device -> the shared part that explains why it is low; `nodes` likewise, of whole nodes.
        between: two proven devices that were low together -> what is between them: a path, an uplink, the spines.
        spared: proven devices that are at fault only by links that an uplink or the spines explain.
        standings: device -> its best meeting among those of its class: a collision spoils one, a slow device all.
        versions: device -> version of the tool that measured it.
    """

    graph: Graph
    topology: DevicePlaces
    behind: Mapping[End, SharedFault]
    nodes: Mapping[End, SharedFault]
    between: Mapping[frozenset[End], SharedFault]
    spared: frozenset[End]
    standings: Mapping[End, Standing]
    versions: Mapping[End, str]

    def rail(self, end: End) -> int:
        """The rail of a device."""
        return self.topology.rails[end]

    def was_repeated(self, end: End) -> bool:
        """Whether a device was measured in the second stage, for its own sake."""
        return any(link.suspect == end for link in self.graph.of(end, LinkState.OK, LinkState.LOW))

    def to_measure_again(self) -> tuple[End, ...]:
        """The suspects that no shared part explains, and that were low with others than those behind one."""
        return tuple(end for end in self.graph.suspects() if end not in self.behind and not self._is_low_by_others(end))

    def _is_low_by_others(self, end: End) -> bool:
        partners = {link.far(end) for link in self.graph.of(end, LinkState.LOW)}
        return self.graph.proven(end) and bool(partners) and partners <= self.behind.keys() and not self.unexplained_broken(end)

    def good_partners(self) -> tuple[End, ...]:
        """Devices that a measurement proved and that are not suspects; where two of three decide, those of trusted nodes, too: one meeting with one is not a verdict."""
        bad = {*self.graph.suspects(), *self.behind}
        counts = self.graph.two_of_three
        return tuple(
            end for end in self.graph.ends if end not in bad and (self.graph.of(end, LinkState.OK) or (counts and self.graph.proven(end)))
        )

    def is_slow(self, end: End) -> bool:
        """Whether a device is at fault: low, and not because of what is between it and others."""
        return end in self.graph.slow and end not in self.spared

    def unexplained_low(self, end: End) -> tuple[Link, ...]:
        """Low links of a device whose other end is neither at fault nor behind a shared part that is."""
        return tuple(
            link for link in self.graph.of(end, LinkState.LOW) if not self.is_slow(link.far(end)) and link.far(end) not in self.behind
        )

    def unexplained_broken(self, end: End) -> tuple[Link, ...]:
        """Links without a measurement that nothing explains; none where it was measured again and was fine."""
        return () if end in self.graph.cleared else self.graph.unexplained(end, LinkState.BROKEN)

    def is_collision(self, end: End) -> bool:
        """Whether a device is proven although it was low: with a minority of its partners, no more when it was measured again, or for what is between."""
        return self.graph.proven(end) and (end in self.graph.cleared or end in self.spared or not self.graph.low_with_most(end))


def findings_of(
    graph: Graph, topology: DevicePlaces, classes: Mapping[End, Hashable], versions: Mapping[End, str], direction: Direction
) -> PairFindings:
    """The findings of some links; `classes`: device -> what makes it comparable with others; `versions`: of its tool.

    A bandwidth is the same over any number of switches, a latency is not: only devices whose best meetings reach equally far are compared.
    """
    measured = {end: graph.of(end, LinkState.OK, LinkState.LOW) for end in graph.ends}
    best = {end: max(links, key=lambda link: direction.rank(link.value)) for end, links in measured.items() if links}
    kinds = {end: (classes[end], direction.higher_is_better or topology.reach(link)) for end, link in best.items()}
    values = {end: link.value for end, link in best.items()}
    standing = standings(values, kinds, direction=direction)
    shared = shared_faults(graph, topology)
    uplinks = uplink_faults(graph, topology, shared)
    explained = frozenset(pair for fault in uplinks for pair in fault.pairs)
    paths = path_faults(graph, topology, shared, explained)

    def of(*parts: SharedPart) -> dict[End, SharedFault]:
        return {end: fault for fault in shared if fault.part in parts for end in fault.ends}

    between = {pair: fault for fault in (*paths, *uplinks) for pair in fault.pairs}
    return PairFindings(graph, topology, of(*_SWITCHES), of(SharedPart.NODE), between, _spared(graph, explained), standing, versions)


def _spared(graph: Graph, explained: frozenset[frozenset[End]]) -> frozenset[End]:
    if not explained:
        return frozenset()
    left = graph.without(explained)
    ends = frozenset(end for pair in explained for end in pair)
    return frozenset(end for end in ends if end not in left.slow and left.proven(end))
