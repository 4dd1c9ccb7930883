"""Waivers that do nothing any more, expired or for a check that the node does not have, and those that hide too much for too long. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.near_match import did_you_mean
from clusterctl.core.waivers import matches, may_match, parse_waivers
from clusterctl.model.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from datetime import date

    from clusterctl.core.waivers import Waiver
    from clusterctl.model.node import Node


# Our choice: a deviation that nobody looks at within a year has become the declared state, and belongs there.
_LONGEST_DAYS = 366


def waiver_problems(node: Node, known_checks: Collection[str], today: date) -> Iterator[Problem]:
    """What is wrong with the waivers of a node.

    A check exists only when a validator has run, so a glob is compared with the roles of the node, and with `known_checks`, the ids found
    when the node was last validated; where that is empty, with the roles alone.
    """
    for i, waiver in enumerate(parse_waivers(node.spec.waivers, node.name)):
        for message in _messages(waiver, node.spec.roles, known_checks, today):
            yield Problem(f"waivers[{i}]", message, nodes=(node.name,))


def _messages(waiver: Waiver, roles: Collection[str], known_checks: Collection[str], today: date) -> Iterator[str]:
    if waiver.expires < today:
        yield f"{waiver.check!r} of {waiver.owner} expired on {waiver.expires} ({waiver.reason}): renew or remove it"
    elif (waiver.expires - today).days > _LONGEST_DAYS:
        yield f"{waiver.check!r} of {waiver.owner} lasts until {waiver.expires}, more than a year: nobody will look at it before; give it an earlier end"
    if len(roles) > 1 and all(may_match(waiver.check, role) for role in roles):
        yield f"{waiver.check!r} hides checks of every role, so it hides any fault of the node: name the checks, or quarantine the node"
    if not any(may_match(waiver.check, role) for role in roles):
        yield f"{waiver.check!r} matches no check: the node has no such role{did_you_mean(waiver.check.partition('.')[0], roles)}"
    elif known_checks and not any(matches(waiver.check, check) for check in known_checks):
        yield f"{waiver.check!r} matches none of the {len(known_checks)} checks of its last validation{did_you_mean(waiver.check, known_checks)}"
