"""The switches above nodes and their NVLink domains, as schedulers need them. Pure.

A node's leaf is its `leaf`, else its scalable unit, else its rack: in a rail-optimised fabric all nodes of a unit share their leaves.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from clusterctl.model.node import Place
    from clusterctl.model.topology import Host

ROOT = "root"
_NUMBERED = re.compile(r"(.*?)(\d+)")
_HINT = "set leaf, spine and nvlink_domain in the group_vars of the rack"


@dataclass(frozen=True, slots=True)
class SwitchTree:
    """Leaves with their nodes, the switches above them, and the NVLink domains.

    Attributes:
        leaves: leaf -> its nodes.
        above: switch -> the switches directly below it; `root` joins them where there are several at the top.
        domains: NVLink domain -> its nodes.
    """

    leaves: Mapping[str, tuple[str, ...]]
    above: Mapping[str, tuple[str, ...]]
    domains: Mapping[str, tuple[str, ...]]


def leaf_of(place: Place) -> str:
    """The leaf of a node, or an empty string."""
    return place.leaf or place.su or place.rack


def switch_tree(hosts: Iterable[Host]) -> SwitchTree:
    """The tree of these hosts.

    Raises:
        ConfigError: a node has no leaf, a leaf has two spines, or a name is both.
    """
    leaves: dict[str, list[str]] = defaultdict(list)
    spines: dict[str, set[str]] = defaultdict(set)
    domains: dict[str, list[str]] = defaultdict(list)
    for host in hosts:
        leaf = leaf_of(host.place)
        if not leaf:
            raise ConfigError(detail=f"{host.name} has no leaf, su or rack", hint=_HINT)
        leaves[leaf].append(host.name)
        spines[leaf].add(host.place.spine)
        if host.place.nvlink_domain:
            domains[host.place.nvlink_domain].append(host.name)
    above: dict[str, list[str]] = defaultdict(list)
    for leaf, own in spines.items():
        if len(own) > 1:
            raise ConfigError(detail=f"the nodes of leaf {leaf} are on several spines: {', '.join(sorted(own))}", hint=_HINT)
        (spine,) = own
        if spine:
            above[spine].append(leaf)
    if both := sorted(leaves.keys() & above.keys() | {ROOT} & (leaves.keys() | above.keys())):
        raise ConfigError(detail=f"{both[0]} cannot be the name of a leaf and of a switch above", hint=_HINT)
    top = [*above, *(leaf for leaf, own in spines.items() if own == {""})]
    if len(top) > 1:
        above[ROOT] = top
    return SwitchTree(_sorted(leaves), _sorted(above), _sorted(domains))


def block_size(tree: SwitchTree) -> int:
    """The nodes of the smallest NVLink domain: what a block of Slurm can rely on."""
    return min(map(len, tree.domains.values()), default=0)


def hostlist(names: Sequence[str]) -> str:
    """Names as Slurm abbreviates them: `r12-n[01-08,12]`."""
    parts: list[str] = []
    matched = [(name, _NUMBERED.fullmatch(name)) for name in sorted(set(names))]
    for (prefix, width), group in groupby(matched, key=lambda m: (m[1][1], len(m[1][2])) if m[1] else (m[0], 0)):
        numbers = [int(m[2]) for _, m in group if m]
        ranges = _ranges(numbers, width)
        parts.append(prefix if not numbers else f"{prefix}[{','.join(ranges)}]" if len(numbers) > 1 else f"{prefix}{ranges[0]}")
    return ",".join(parts)


def _ranges(numbers: Sequence[int], width: int) -> list[str]:
    found = []
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        ends = [n for _, n in run]
        found.append(f"{ends[0]:0{width}}" + (f"-{ends[-1]:0{width}}" if len(ends) > 1 else ""))
    return found


def _sorted(groups: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(sorted(members)) for name, members in sorted(groups.items())}
