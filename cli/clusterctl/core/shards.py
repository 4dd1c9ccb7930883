"""Splits a target into shards: the nodes of one rack at one site, and those of all racks of a site for what is measured across them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.model.shard import ShardKind, ShardState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.model.shard import Shard
    from clusterctl.model.topology import Host


def split(hosts: Iterable[Host], pattern: Shard) -> tuple[Shard, ...]:
    """One shard per site and rack, each like `pattern`, in the order of the inventory; nodes without a rack are one shard of their site.

    A site with several gets one more, which waits for these.
    """
    racks: dict[tuple[str, str], list[str]] = {}
    for host in hosts:
        racks.setdefault((host.place.site, host.place.rack), []).append(host.name)
    found = [replace(pattern, site=site, rack=rack, nodes=tuple(names)) for (site, rack), names in racks.items()]
    sites = dict.fromkeys(s.site for s in found)
    own = {site: [s for s in found if s.site == site] for site in sites}
    across = [
        replace(pattern, site=site, nodes=tuple(n for s in shards for n in s.nodes), kind=ShardKind.ACROSS, state=ShardState.WAITING)
        for site, shards in own.items()
        if len(shards) > 1
    ]
    return (*found, *across)
