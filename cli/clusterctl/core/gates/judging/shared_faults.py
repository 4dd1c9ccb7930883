"""What many low devices have in common: all uplinks of a leaf, the switch of a rail, a node, the path between two leaves. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from clusterctl.core.gates.judging.attribution import End, Graph, Link, LinkState

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from clusterctl.core.gates.judging.low_shares import LowShare
    from clusterctl.model.node import Place

K = TypeVar("K")

# Fewer than three devices in one place are not a pattern: two of them are as likely two faults.
LEAST = 3


class SharedPart(StrEnum):
    """What several devices share."""

    UPLINKS = "uplinks"
    RAIL_SWITCH = "rail_switch"
    NODE = "node"
    PATH = "path"
    # One of several uplinks of a leaf, or one of the spines: low are the links whose path uses it.
    UPLINK = "uplink"
    SPINES = "spines"


@dataclass(frozen=True, slots=True)
class SharedFault:
    """A part that explains low devices better than a fault of each.

    Attributes:
        name: of the leaf, the scalable unit (empty where all nodes are one), the node, the two leaves, or the spine (empty for all spines).
        rail: of the devices; None where it is all rails.
        ends: the low devices that it explains.
        pairs: the low links between proven devices that it explains, where it is between them: path, uplink, spines.
        seen, others: how many links that may use it are low, and of those it was compared with; None where nothing was counted.
    """

    part: SharedPart
    name: str
    ends: frozenset[End]
    rail: int | None = None
    pairs: frozenset[frozenset[End]] = frozenset()
    seen: LowShare | None = None
    others: LowShare | None = None

    @property
    def title(self) -> str:
        """Its name and rail, as far as it has them: `leaf-3, rail 2`."""
        return ", ".join(filter(None, (self.name, "" if self.rail is None else f"rail {self.rail}")))


@dataclass(frozen=True, slots=True)
class DevicePlaces:
    """Where devices are.

    Attributes:
        places: node -> its place; rails: device -> its rail.
    """

    places: Mapping[str, Place]
    rails: Mapping[End, int]

    def leaf(self, end: End) -> str:
        """The leaf of a device; empty where none is declared."""
        return self.places[end[0]].switch

    def reach(self, link: Link) -> tuple[bool, bool]:
        """Whether a link leaves its leaf, and its scalable unit: each adds switches to the path."""
        return self.crosses(link), self.places[link.one[0]].su != self.places[link.other[0]].su

    def crosses(self, link: Link) -> bool:
        """Whether a link uses the uplinks of its leaves."""
        return self.leaf(link.one) != self.leaf(link.other)


def shared_faults(graph: Graph, topology: DevicePlaces) -> tuple[SharedFault, ...]:
    """The parts that are at fault instead of devices, and the nodes of which all rails are.

    Uplinks: more than half of a leaf's devices of a rail are low with every partner across leaves, and fine with one inside. Rail switch: more than half
    of a rail's devices of a scalable unit have no proof, and of the other rails fewer. Node: none of its rails has a proof. At least three devices, but
    for a node.
    """
    uplinks = tuple(_uplinks(graph, topology))
    switches = tuple(_rail_switches(graph, topology))
    behind = frozenset(chain.from_iterable(f.ends for f in (*uplinks, *switches)))
    return (*uplinks, *switches, *_nodes(graph, behind))


def path_faults(
    graph: Graph, topology: DevicePlaces, known: Iterable[SharedFault], explained: Collection[frozenset[End]]
) -> tuple[SharedFault, ...]:
    """The paths between two leaves that are low for more than half of the pairs of nodes that used them, three at least, whose ends are proven with others.

    `known`: what explains devices; `explained`: pairs of devices with a low link that a bad uplink or spine explains.
    """
    behind = frozenset(chain.from_iterable(fault.ends for fault in known))
    paths: dict[tuple[str, str], list[Link]] = {}
    for link in (link for end in graph.ends for link in _measured(graph.of(end)) if topology.crosses(link)):
        one, other = sorted((topology.leaf(link.one), topology.leaf(link.other)))
        paths.setdefault((one, other), []).append(link)
    return tuple(
        SharedFault(SharedPart.PATH, f"{one} and {other}", frozenset(chain.from_iterable(pairs)), pairs=pairs)
        for (one, other), links in paths.items()
        if one
        and (pairs := _low_between(graph, links, behind) - frozenset(explained))
        and _many(_nodes_of(pairs), _nodes_of(map(_ends, links)))
    )


def _low_between(graph: Graph, links: Iterable[Link], behind: Collection[End]) -> frozenset[frozenset[End]]:
    low = (_ends(link) for link in links if link.state is LinkState.LOW)
    return frozenset(pair for pair in low if all(graph.proven(end) and end not in behind for end in pair))


def _ends(link: Link) -> frozenset[End]:
    return frozenset((link.one, link.other))


def _measured(links: Iterable[Link]) -> list[Link]:
    return [link for link in links if link.state is not LinkState.BROKEN]


def _uplinks(graph: Graph, topology: DevicePlaces) -> Iterator[SharedFault]:
    for (leaf, rail), ends in _by(graph, lambda end: (topology.leaf(end), topology.rails[end])).items():
        crossing = {end: [link for link in _measured(graph.of(end)) if topology.crosses(link)] for end in ends}
        across = [end for end in ends if crossing[end]]
        low = [
            end
            for end in across
            if all(link.state is LinkState.LOW for link in crossing[end])
            and any(not topology.crosses(link) for link in graph.of(end, LinkState.OK))
        ]
        if leaf and _many(low, across):
            yield SharedFault(SharedPart.UPLINKS, leaf, frozenset(low), rail)


def _rail_switches(graph: Graph, topology: DevicePlaces) -> Iterator[SharedFault]:
    units = _by(graph, lambda end: (topology.places[end[0]].su, topology.rails[end]))
    without = {place: [e for e in ends if not graph.proven(e) and graph.of(e, LinkState.LOW)] for place, ends in units.items()}
    for (unit, rail), ends in units.items():
        others = [place for place in units if place[0] == unit and place[1] != rail]
        fine = [place for place in others if not _many(without[place], units[place])]
        if _many(without[unit, rail], [e for e in ends if _measured(graph.of(e))]) and len(fine) > len(others) / 2:
            yield SharedFault(SharedPart.RAIL_SWITCH, unit, frozenset(without[unit, rail]), rail)


def _nodes(graph: Graph, behind: frozenset[End]) -> Iterator[SharedFault]:
    for node, ends in _by(graph, lambda end: end[0]).items():
        low = [end for end in ends if end not in behind and not graph.proven(end) and graph.of(end, LinkState.LOW)]
        if len(low) == len(ends) > 1:
            yield SharedFault(SharedPart.NODE, node, frozenset(low))


def _nodes_of(pairs: Iterable[frozenset[End]]) -> set[frozenset[str]]:
    """The pairs of nodes: what their rails meet on the way counts once."""
    return {frozenset(node for node, _ in pair) for pair in pairs}


def _by(graph: Graph, key: Callable[[End], K]) -> dict[K, list[End]]:
    found: dict[K, list[End]] = {}
    for end in graph.ends:
        found.setdefault(key(end), []).append(end)
    return found


def _many(some: Collection[object], of: Collection[object]) -> bool:
    return len(some) >= LEAST and len(some) > len(of) / 2
