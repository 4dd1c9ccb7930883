"""The reboot budget: how many nodes of one rack may be down at once. The same rule as in playbooks/reboot.yml."""

from __future__ import annotations

import math


def at_once(budget: str, nodes: int) -> int:
    """How many of `nodes` of one rack may be down at once; `budget` is a number, or a percentage of them, at least one."""
    return max(1, nodes * int(budget.removesuffix("%")) // 100) if budget.endswith("%") else int(budget)


def most_turns(budget: str, nodes: int) -> int:
    """The largest number of reboots one after another that a budget allows for `nodes`, which may all be in one rack."""
    return max(1, math.ceil(nodes / at_once(budget, nodes)))
