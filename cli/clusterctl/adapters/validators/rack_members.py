"""The nodes of a rack outside the target, with their earlier findings."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from clusterctl.core.rack_comparison import Group, Others, group_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from clusterctl.adapters.validators.validation_settings import ValidationSettings
    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.node import Node
    from clusterctl.model.validator_traits import RackRule


def members_outside(
    nodes: Sequence[Node],
    rules: Mapping[str, RackRule],
    inventory: Sequence[Path],
    settings: ValidationSettings,
    stored: Callable[[str], NodeFindings | None] | None,
) -> dict[Group, Others]:
    """Group -> its nodes in the inventory that are not among `nodes`. Costs nothing where the target is known to hold whole groups.

    `stored` returns the stored findings of a node that are still valid; None = nothing is stored.

    Raises:
        ConfigError: a layer of the inventory is not usable.
    """
    members = [(n, role) for n in nodes for role in n.spec.roles if role in rules and settings.selects(role)]
    in_target = Counter(group_of(rules[role], role, n.place) for n, role in members)
    profiles: dict[Group, set[str]] = {}
    for node, role in members:
        group, size = group_of(rules[role], role, node.place), rules[role].size
        if not size or in_target[group] < int(node.spec.roles[role][size]):
            profiles.setdefault(group, set()).add(node.profile)
    if not profiles or not inventory:
        return {}
    from clusterctl.adapters.inventory.load import list_hosts  # noqa: PLC0415 starts a process, and most sites have no such rack

    names = {n.name for n in nodes}
    others: dict[Group, Others] = {group: {} for group in profiles}
    hosts = [h for h in list_hosts(inventory).hosts if h.name not in names]
    for group, same in profiles.items():
        rule = rules[group.role]
        # a rack also has other machines
        for host in (h for h in hosts if h.profile in same and group_of(rule, group.role, h.place) == group):
            others[group][host.name] = stored(host.name) if stored else None
    return others
