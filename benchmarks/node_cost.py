"""CPU that the checks take on the node itself."""

from __future__ import annotations

import statistics
from collections import Counter
from typing import TYPE_CHECKING, Any

from node_answer import ask

if TYPE_CHECKING:
    from lab_site import Lab
    from node_answer import Answer

    from clusterctl.model.node import Node

_ENOUGH = 100
_TIMES = 3


def sets_of_roles(findings: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Roles in their order, in sets of at least 100 checks; what is left over joins the last set."""
    sets: list[tuple[str, ...]] = []
    waiting: tuple[str, ...] = ()
    checks = 0
    for role, number in Counter(f["role"] for f in findings).items():
        if number >= _ENOUGH:
            sets.append((role,))
            continue
        waiting, checks = (*waiting, role), checks + number
        if checks >= _ENOUGH:
            sets.append(waiting)
            waiting, checks = (), 0
    if waiting and sets:
        sets[-1] = (*sets[-1], *waiting)
    return sets or [waiting]


def measure(lab: Lab, node: Node, whole: Answer) -> dict[str, Any]:
    """Medians, as the node counts them: of all its checks, and of sets of roles with at least 100 checks.

    `drift_node_cpu_s` is the dearest set, start-up included and nothing divided: each set is over the 100 checks that its target speaks of.
    """
    alone = {roles: [ask(lab, node, roles) for _ in range(_TIMES)] for roles in sets_of_roles(whole.findings)}
    cost = {roles: statistics.median(a.cpu_s for a in answers) for roles, answers in alone.items()}
    dearest = max(cost, key=lambda roles: cost[roles])
    least = min(Counter(f["role"] for f in whole.findings).items(), key=lambda item: item[1])[0]
    return {
        "drift_node_cpu_s": cost[dearest],
        "drift_node_cpu_checks": len(alone[dearest][0].findings),
        "drift_node_cpu_s_all_checks": statistics.median([whole.cpu_s, *(ask(lab, node).cpu_s for _ in range(_TIMES - 1))]),
        "drift_node_all_checks": len(whole.findings),
        "drift_node_cpu_s_by_roles": {"+".join(r): {"cpu_s": c, "checks": len(alone[r][0].findings)} for r, c in cost.items()},
        "floor_node_cpu_s": ask(lab, node, [least]).cpu_s,
    }
