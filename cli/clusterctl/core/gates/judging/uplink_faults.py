"""One bad uplink of a leaf, and a bad spine: low are those links across leaves whose path uses it, between ends that are proven. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from clusterctl.core.gates.judging.attribution import End, Graph, LinkState
from clusterctl.core.gates.judging.low_shares import LowShare, chance
from clusterctl.core.gates.judging.shared_faults import LEAST, DevicePlaces, SharedFault, SharedPart

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

# In so many nights of a healthy fleet any leaf, or any spine, is named at most: what is named is a warning, and holds nobody.
_BY_CHANCE = 1e-3
# The same of a leaf that is like its equals, where the spines are bad.
_BESIDE_EQUALS = 1e-3
# The same of a part without the node, and without the other leaf, that has most of its low links, which are then a third as frequent at least: neither
# alone is the pattern. A path between two leaves that is bad alone leaves collisions.
_WITHOUT_ONE = 0.05
_LEFT = 1 / 3
_ALL = ""

# A name and a rail, None for all rails together.
_Unit = tuple[str, int | None]


@dataclass(frozen=True, slots=True)
class _Path:
    """A link between two proven devices. `leaves`: those of its ends, one where it stays inside."""

    pair: frozenset[End]
    rail: int
    leaves: frozenset[str]
    low: bool

    @property
    def nodes(self) -> frozenset[str]:
        """Those at its ends."""
        return frozenset(node for node, _ in self.pair)

    @property
    def crosses(self) -> bool:
        """Whether it uses uplinks."""
        return len(self.leaves) > 1


@dataclass(frozen=True, slots=True)
class _Layer:
    """What may be at fault, and what it is compared with.

    Attributes:
        names: the parts of this kind that a path may use.
        groups: the groups of comparable paths that a path is in; group: of a part, which is compared with the other paths of it.
    """

    part: SharedPart
    names: Callable[[_Path], Collection[str]]
    groups: Callable[[_Path], Collection[str]]
    group: Callable[[str], str]

    def of(self, unit: _Unit, paths: Iterable[_Path]) -> list[_Path]:
        """The paths that may use a part."""
        name, rail = unit
        return [p for p in paths if name in self.names(p) and rail in (None, p.rail)]


def uplink_faults(graph: Graph, topology: DevicePlaces, known: Collection[SharedFault]) -> tuple[SharedFault, ...]:
    """The leaves with a bad uplink, and the spines; `known`: what other shared parts explain.

    A leaf is named where its links across are low far more often than those of the other leaves below its spine (of all, where none is declared), from
    several nodes and to several leaves; then a declared spine against the others; then all spines, against the links inside leaves. What a named part
    explains does not count for those after it.
    """
    paths = list(_paths(graph, topology, known))
    found: list[SharedFault] = []
    for layer in _layers(topology):
        while (fault := _worst(layer, paths)) is not None:
            found.append(fault)
            own = set(layer.of((fault.name, fault.rail), paths))
            paths = [p for p in paths if p not in own]
    return tuple(found)


def _paths(graph: Graph, topology: DevicePlaces, known: Collection[SharedFault]) -> Iterator[_Path]:
    behind = frozenset(chain.from_iterable(fault.ends for fault in known))
    sound = {end for end in graph.ends if end not in behind and graph.proven(end) and not _is_faulty_inside(graph, topology, end)}
    for link in (link for end in graph.ends for link in graph.of(end, LinkState.OK, LinkState.LOW) if link.one == end):
        leaves = frozenset((topology.leaf(link.one), topology.leaf(link.other)))
        pair = frozenset((link.one, link.other))
        if pair <= sound and all(leaves):
            yield _Path(pair, topology.rails[link.one], leaves, link.state is LinkState.LOW)


def _is_faulty_inside(graph: Graph, topology: DevicePlaces, end: End) -> bool:
    """Whether a device that looks faulty was not fine in half of its meetings inside its leaf: then no uplink explains it."""
    if end not in graph.slow:
        return False
    inside = [link.state for link in graph.of(end, LinkState.OK, LinkState.LOW) if not topology.crosses(link)]
    return 2 * inside.count(LinkState.OK) < max(1, len(inside))


def _layers(topology: DevicePlaces) -> tuple[_Layer, ...]:
    spine = _spines(topology)
    several = Counter(spine.values())

    def spines(path: _Path) -> frozenset[str]:
        return frozenset(spine[leaf] for leaf in path.leaves) if path.crosses else frozenset()

    def across(path: _Path) -> Collection[str]:
        return (_ALL,) if path.crosses else ()

    leaves = _Layer(
        SharedPart.UPLINK,
        names=lambda path: path.leaves if path.crosses else (),
        groups=lambda path: spines(path) | {_ALL} if path.crosses else (),
        # Below the same spine, so that a bad spine names none of its leaves; a leaf that is alone there is compared with all.
        group=lambda leaf: spine[leaf] if several[spine[leaf]] > 1 else _ALL,
    )
    declared = _Layer(
        SharedPart.SPINES, names=lambda path: spines(path) - {_ALL} if len(several) > 1 else (), groups=across, group=lambda _: _ALL
    )
    every = _Layer(SharedPart.SPINES, names=across, groups=lambda _: (_ALL,), group=lambda _: _ALL)
    return leaves, declared, every


def _spines(topology: DevicePlaces) -> Mapping[str, str]:
    """Leaf -> the spine above it; empty where its nodes declare none, or several."""
    declared: dict[str, set[str]] = {}
    for place in topology.places.values():
        declared.setdefault(place.switch, set()).add(place.spine)
    return {leaf: next(iter(own)) if len(own) == 1 else "" for leaf, own in declared.items()}


def _worst(layer: _Layer, paths: Sequence[_Path]) -> SharedFault | None:
    """The part that is least likely to be as low as it is by chance: all rails of it where those that do not stand out alone do so together."""
    counted = _counted(layer, paths)
    every = _seen(paths)
    likely = sorted(((unit, chance(own, every.without(own))) for unit, (own, _) in counted.items()), key=_order)
    rare = [unit for unit, how in likely if how <= _BY_CHANCE / len(counted)]
    standing_out = [unit for unit in rare if chance(*counted[unit]) <= _BESIDE_EQUALS / len(counted)]
    found = [unit for unit in standing_out if _is_pattern(unit[0], layer.of(unit, paths), counted[unit][1])]
    if not found:
        return None
    name = found[0][0]
    rails = [unit for unit in found if unit[0] == name and unit[1] is not None]
    rest = [p for p in layer.of((name, None), paths) if (name, p.rail) not in rails]
    together = (name, None) in found and (not rest or chance(_seen(rest), counted[name, None][1]) <= _WITHOUT_ONE)
    unit = (name, None) if together else rails[0]
    pairs = frozenset(p.pair for p in layer.of(unit, paths) if p.low)
    return SharedFault(layer.part, unit[0], frozenset(chain.from_iterable(pairs)), unit[1], pairs, *counted[unit])


def _counted(layer: _Layer, paths: Sequence[_Path]) -> dict[_Unit, tuple[LowShare, LowShare]]:
    """What each part shows, and what it is compared with."""
    totals = _shares(paths, layer.groups)
    return {(name, rail): (own, totals[layer.group(name), rail].without(own)) for (name, rail), own in _shares(paths, layer.names).items()}


def _order(item: tuple[_Unit, float]) -> tuple[float, str, int]:
    (name, rail), how = item
    return how, name, -1 if rail is None else rail


def _shares(paths: Sequence[_Path], names: Callable[[_Path], Collection[str]]) -> dict[_Unit, LowShare]:
    """By name and rail, and where there are several rails by name alone, too."""
    rails = {p.rail for p in paths}
    low: Counter[_Unit] = Counter()
    of: Counter[_Unit] = Counter()
    for path in paths:
        for name in names(path):
            for rail in (path.rail, None) if len(rails) > 1 else (path.rail,):
                of[name, rail] += 1
                low[name, rail] += path.low
    return {unit: LowShare(low[unit], of[unit]) for unit in of}


def _is_pattern(name: str, own: Sequence[_Path], others: LowShare) -> bool:
    """Whether low links are of three pairs of nodes at least, and stand out without the node, and without the other leaf, that most of them are of."""
    low = [p for p in own if p.low]
    if len({p.nodes for p in low}) < LEAST:
        return False
    node, leaf = _most((p.nodes for p in low), name), _most((p.leaves for p in low), name)
    rests = [_seen(p for p in own if node not in p.nodes), _seen(p for p in own if leaf not in p.leaves)]
    least = _seen(own).share * _LEFT
    return all(chance(rest, others) <= _WITHOUT_ONE and rest.share >= least for rest in rests)


def _seen(paths: Iterable[_Path]) -> LowShare:
    states = [p.low for p in paths]
    return LowShare(sum(states), len(states))


def _most(groups: Iterable[Collection[str]], but: str) -> str:
    counts = Counter(name for names in groups for name in names if name != but)
    return min(counts, key=lambda name: (-counts[name], name))
