"""A node's plan as the JSON that its burn-in agent reads (`roles/burnin/files/burnin_agent.py`). Pure."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clusterctl.gates.plan import GatePlan

LOCK = "/run/lock/clusterctl-burnin.lock"


def plan_for(plan: GatePlan, node: str, run: str) -> dict[str, Any]:
    """What `node` runs; `run` is the word by which agents of one run know each other."""
    return {
        "schema_version": 1,
        "run": run,
        "node": node,
        "listen": "",
        "control_port": plan.control_port,
        "peer_wait_s": plan.peer_wait_s,
        "limit_s": plan.limit_s,
        "lock": LOCK,
        "steps": [asdict(step) for step in plan.steps[node]],
    }
