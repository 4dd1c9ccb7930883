"""`clusterctl bmc`: the BMCs of a target, read at once; nothing is written, no node is contacted."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from clusterctl.adapters.bmc.host_power import BmcLimits
from clusterctl.adapters.bmc.read_report import read_report
from clusterctl.adapters.inventory.bmcs import load_bmcs

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from clusterctl.adapters.config import Config
    from clusterctl.model.bmc_report import BmcReport, BmcSection
    from clusterctl.model.node import Node

_AT_ONCE = 32


def bmc_reports(
    config: Config, nodes: Sequence[Node], sections: Collection[BmcSection], entries: int, *, vault_ids: Sequence[str] = ()
) -> tuple[BmcReport, ...]:
    """A report of each node, in the order of `nodes`; `entries` of each log.

    Raises:
        ConfigError: the inventory cannot be used.
    """
    accesses = load_bmcs(config.inventory, [n.name for n in nodes], vault_ids=vault_ids)
    with ThreadPoolExecutor(_AT_ONCE, "bmc") as pool:
        return tuple(pool.map(lambda n: read_report(accesses[n.name], BmcLimits.of(n.spec.roles), sections, entries), nodes))
