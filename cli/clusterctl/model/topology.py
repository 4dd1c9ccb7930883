"""Groups and hosts of an inventory, without their specs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clusterctl.model.node import nearest_profile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.model.node import Place


@dataclass(frozen=True, slots=True)
class Host:
    """A host of the inventory.

    Attributes:
        groups: all its groups, nearest last.
        address: where it is reached.
        labels: what the site notes of it.
        rail_leaves: rail -> the leaf switch that it is cabled to.
    """

    name: str
    groups: tuple[str, ...]
    place: Place
    address: str = ""
    bmc_url: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    rail_leaves: Mapping[str, str] = field(default_factory=dict)

    @property
    def profile(self) -> str:
        """Its nearest profile group, or an empty string."""
        return nearest_profile(self.groups)


@dataclass(frozen=True, slots=True)
class Topology:
    """What an inventory holds.

    Attributes:
        groups: group -> its hosts and those of its children; empty groups are there, too.
        children: group -> the groups directly below it.
    """

    groups: Mapping[str, tuple[str, ...]]
    children: Mapping[str, tuple[str, ...]]
    hosts: tuple[Host, ...]

    @property
    def profiles(self) -> tuple[str, ...]:
        """All `profile_*` groups."""
        return tuple(sorted(g for g in self.groups if _is_profile(g)))

    @property
    def idle_profiles(self) -> tuple[str, ...]:
        """The profiles without a node, but for those that only hold what other profiles share."""
        return tuple(p for p in self.profiles if not self.groups[p] and not any(map(_is_profile, self.children[p])))


def _is_profile(group: str) -> bool:
    return group.startswith("profile_")
