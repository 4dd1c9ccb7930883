"""What is declared as observed and observes nothing. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.gates.registry import gate_names
from clusterctl.core.near_match import did_you_mean
from clusterctl.core.observe import parse_observations
from clusterctl.core.waivers import matches, may_match
from clusterctl.model.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from clusterctl.core.observe import Observation
    from clusterctl.model.node import Node


def observe_problems(node: Node, known_checks: Collection[str]) -> Iterator[Problem]:
    """What is wrong with `observe` of a node; `known_checks`: the ids of its last validation, empty where there is none."""
    for i, one in enumerate(parse_observations(node.spec.observe, node.name)):
        message = _gate(one) if one.gate else _check(one, node.spec.roles, known_checks)
        if message:
            yield Problem(f"observe[{i}]", message, nodes=(node.name,))


def _gate(one: Observation) -> str:
    known = gate_names()
    return "" if one.gate in known else f"there is no gate {one.gate!r}{did_you_mean(one.gate, known)}"


def _check(one: Observation, roles: Collection[str], known_checks: Collection[str]) -> str:
    if len(roles) > 1 and all(may_match(one.check, role) for role in roles):
        return f"{one.check!r} observes checks of every role, so no check would decide: name the checks"
    if not any(may_match(one.check, role) for role in roles):
        return f"{one.check!r} matches no check: the node has no such role{did_you_mean(one.check.partition('.')[0], roles)}"
    if known_checks and not any(matches(one.check, check) for check in known_checks):
        return f"{one.check!r} matches none of the {len(known_checks)} checks of its last validation{did_you_mean(one.check, known_checks)}"
    return ""
