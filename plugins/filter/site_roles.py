"""The positions of a site's own roles relative to the roles that provision.yml lists."""

from __future__ import annotations

from typing import Any


def site_roles(node_roles: list[str], listed: list[str]) -> dict[str, list[str]]:
    """The roles in `node_roles` that provision.yml does not list.

    `first` come before every listed role of the node, `last` after the first listed one; `between` are those of `last` that another listed role follows.

    Args:
        node_roles: the roles of a node, in order.
        listed: the roles that provision.yml lists.
    """
    places = [i for i, name in enumerate(node_roles) if name in listed] or [len(node_roles)]
    own = [(i, name) for i, name in enumerate(node_roles) if name not in listed]
    return {
        "first": [name for i, name in own if i < places[0]],
        "last": [name for i, name in own if i > places[0]],
        "between": [name for i, name in own if places[0] < i < places[-1]],
    }


class FilterModule:
    """The filter of the playbooks."""

    def filters(self) -> dict[str, Any]:
        """Name -> function."""
        return {"site_roles": site_roles}
