"""Splits a target into shards: the nodes of one rack at one site."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.model.shard import Shard
    from clusterctl.model.topology import Host


def split(hosts: Iterable[Host], pattern: Shard) -> tuple[Shard, ...]:
    """One shard per site and rack, each like `pattern`, in the order of the inventory; nodes without a rack are one shard of their site."""
    racks: dict[tuple[str, str], list[str]] = {}
    for host in hosts:
        racks.setdefault((host.place.site, host.place.rack), []).append(host.name)
    return tuple(replace(pattern, site=site, rack=rack, nodes=tuple(names)) for (site, rack), names in racks.items())
