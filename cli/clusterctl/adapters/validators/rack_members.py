"""The members of an NVLink domain that are not asked now: who they are, and what was found of them before."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from clusterctl.adapters.validators.over_bmc import vault_ids
from clusterctl.adapters.validators.over_rack import ROLE, Others
from clusterctl.core.waivers import may_match

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from clusterctl.adapters.validators.validation_settings import ValidationSettings
    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.node import Node


def not_asked(
    nodes: Sequence[Node], inventory: Sequence[Path], settings: ValidationSettings, stored: Callable[[str], NodeFindings | None] | None
) -> dict[str, Others]:
    """Domain -> its members in the inventory that are not among `nodes`. Costs nothing where whole racks are asked.

    `stored` gives what was found of a node and still counts; None = nothing is stored.

    Raises:
        ConfigError: a layer of the inventory cannot be used.
    """
    members = [n for n in nodes if ROLE in n.spec.roles and may_match(settings.glob, ROLE)]
    asked = Counter(n.place.domain for n in members)
    partial = {n.place.domain for n in members if asked[n.place.domain] < int(n.spec.roles[ROLE]["nvlink_domain_trays"])}
    if not partial or not inventory:
        return {}
    from clusterctl.adapters.inventory.load import list_hosts  # noqa: PLC0415 a process of its own, and most sites have no such rack

    names, profiles = {n.name for n in nodes}, {n.profile for n in members}
    others: dict[str, Others] = {domain: {} for domain in partial}
    for host in list_hosts(inventory, vault_ids=vault_ids(settings.ansible_args)).hosts:
        # a rack has other machines, too
        if host.name not in names and host.profile in profiles and host.place.domain in partial:
            others[host.place.domain][host.name] = stored(host.name) if stored else None
    return others
