"""The members of an NVLink domain outside the target, with their earlier findings."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from clusterctl.adapters.validators.over_rack import ROLE, Others

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from clusterctl.adapters.validators.validation_settings import ValidationSettings
    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.node import Node


def members_outside(
    nodes: Sequence[Node], inventory: Sequence[Path], settings: ValidationSettings, stored: Callable[[str], NodeFindings | None] | None
) -> dict[str, Others]:
    """Domain -> its members in the inventory that are not among `nodes`. Costs nothing where the target holds whole racks.

    `stored` returns the stored findings of a node that are still valid; None = nothing is stored.

    Raises:
        ConfigError: a layer of the inventory is not usable.
    """
    members = [n for n in nodes if ROLE in n.spec.roles and settings.selects(ROLE)]
    in_target = Counter(n.place.domain for n in members)
    partial = {n.place.domain for n in members if in_target[n.place.domain] < int(n.spec.roles[ROLE]["nvlink_domain_trays"])}
    if not partial or not inventory:
        return {}
    from clusterctl.adapters.inventory.load import list_hosts  # noqa: PLC0415 starts a process, and most sites have no such rack

    names, profiles = {n.name for n in nodes}, {n.profile for n in members}
    others: dict[str, Others] = {domain: {} for domain in partial}
    for host in list_hosts(inventory).hosts:
        # a rack also has other machines
        if host.name not in names and host.profile in profiles and host.place.domain in partial:
            others[host.place.domain][host.name] = stored(host.name) if stored else None
    return others
