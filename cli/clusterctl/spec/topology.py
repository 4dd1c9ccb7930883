"""Groups and hosts of an inventory, without their specs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.node import nearest_profile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.node import Place


@dataclass(frozen=True, slots=True)
class Host:
    """A host of the inventory. `groups` are all its groups, nearest last."""

    name: str
    groups: tuple[str, ...]
    place: Place

    @property
    def profile(self) -> str:
        """Its nearest profile group, or an empty string."""
        return nearest_profile(self.groups)


@dataclass(frozen=True, slots=True)
class Topology:
    """What an inventory holds. `groups` has the empty ones, too."""

    groups: Mapping[str, tuple[str, ...]]
    hosts: tuple[Host, ...]

    @property
    def profiles(self) -> tuple[str, ...]:
        """All groups that are profiles."""
        return tuple(sorted(g for g in self.groups if g.startswith("profile_")))
