"""Variables of the command line that change what a node is declared to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clusterctl.model.node import Node, NodeSpec


def overridden(declared: Iterable[Node], given: Iterable[Node]) -> Mapping[str, str]:
    """Node -> what of its declared state differs from the inventory: roles, or the variable that decides about them."""
    specs = {n.name: n.spec for n in declared}
    return {n.name: ", ".join(_differing(specs[n.name], n.spec)) for n in given if n.name in specs and specs[n.name] != n.spec}


def _differing(one: NodeSpec, other: NodeSpec) -> list[str]:
    roles = [r for r in dict.fromkeys((*one.roles, *other.roles)) if one.roles.get(r) != other.roles.get(r)]
    order = [] if roles or tuple(one.roles) == tuple(other.roles) else ["node_roles"]
    more = [
        name
        for name, same in (
            ("gates", one.gates == other.gates),
            ("waivers", one.waivers == other.waivers),
            ("observe", one.observe == other.observe),
            ("roles_owned_elsewhere", one.owners == other.owners),
        )
        if not same
    ]
    return [*roles, *order, *more]
