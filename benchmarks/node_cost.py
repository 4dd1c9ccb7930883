"""CPU time of the checks on the node itself."""

from __future__ import annotations

import statistics
from collections import Counter
from typing import TYPE_CHECKING, Any

from node_answer import query_node

if TYPE_CHECKING:
    from lab_site import Lab
    from node_answer import NodeAnswer

    from clusterctl.model.node import Node

_MIN_CHECKS = 100
_TIMES = 3


def role_sets(findings: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """The roles in order, grouped into sets with at least 100 checks; the rest joins the last set."""
    sets: list[tuple[str, ...]] = []
    current: tuple[str, ...] = ()
    checks = 0
    for role, number in Counter(f["role"] for f in findings).items():
        if number >= _MIN_CHECKS:
            sets.append((role,))
            continue
        current, checks = (*current, role), checks + number
        if checks >= _MIN_CHECKS:
            sets.append(current)
            current, checks = (), 0
    if current and sets:
        sets[-1] = (*sets[-1], *current)
    return sets or [current]


def measure_node(lab: Lab, node: Node, whole: NodeAnswer) -> dict[str, Any]:
    """Median CPU times, measured on the node, of all checks and of sets of roles with at least 100 checks.

    `drift_node_cpu_s` is that of the most expensive set, including start-up. It is not scaled down to 100 checks, which is the unit of its target.
    """
    alone = {roles: [query_node(lab, node, roles) for _ in range(_TIMES)] for roles in role_sets(whole.findings)}
    cost = {roles: statistics.median(a.cpu_s for a in answers) for roles, answers in alone.items()}
    most_expensive = max(cost, key=lambda roles: cost[roles])
    smallest = min(Counter(f["role"] for f in whole.findings).items(), key=lambda item: item[1])[0]
    return {
        "drift_node_cpu_s": cost[most_expensive],
        "drift_node_cpu_checks": len(alone[most_expensive][0].findings),
        "drift_node_cpu_s_all_checks": statistics.median([whole.cpu_s, *(query_node(lab, node).cpu_s for _ in range(_TIMES - 1))]),
        "drift_node_all_checks": len(whole.findings),
        "drift_node_cpu_s_by_roles": {"+".join(r): {"cpu_s": c, "checks": len(alone[r][0].findings)} for r, c in cost.items()},
        "floor_node_cpu_s": query_node(lab, node, [smallest]).cpu_s,
    }
