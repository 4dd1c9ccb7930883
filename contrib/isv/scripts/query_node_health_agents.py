"""BFX04-01: whether the health agent that each node must have runs there, as `clusterctl validate` sees it now.

`monitoring_health_agent` says which one: gpud or NVSentinel. A node for which none is declared has none, as far as clusterctl knows.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from site_answers import NotShownError, Option, Site, machine_id, report

if TYPE_CHECKING:
    import argparse

_CHECKS = "monitoring.health_agent.*"
_LOOKED_FOR = ("monitoring.health_agent.running", "monitoring.health_agent.answers")


def read(site: Site, given: argparse.Namespace) -> dict[str, Any]:
    """One entry for each node that is not retired."""
    recorded = {n["name"]: n for n in site.ask("status")["nodes"]}
    specs = site.ask("profile", "show", given.target)["specs"]
    declared = {node: s["roles"].get("monitoring", {}).get("monitoring_health_agent", "") for s in specs for node in s["nodes"]}
    wanted = {node: agent for node, agent in declared.items() if recorded.get(node, {}).get("state") != "retired"}
    if not any(wanted.values()):
        raise NotShownError(
            "clusterctl looks for gpud or NVSentinel where monitoring_health_agent names it: no node declares it",
            agents_observable=False,
            agents=[],
        )
    answered = {n["name"]: n for n in site.ask("validate", given.target, "--only", _CHECKS)["nodes"]}
    agents = []
    for node, agent in sorted(wanted.items()):
        why = _why_not(answered.get(node, {})) if agent else "it declares no monitoring_health_agent"
        own_id = machine_id(recorded[node]) if node in recorded else node
        agents.append({"node_id": own_id, "agent_name": agent, "running": not why, "why": why})
    return {"agents_observable": True, "agents": agents}


def _why_not(node: dict[str, Any]) -> str:
    """Empty where the agent runs and answers; whether it is started at boot is another question."""
    found = {f["check"]: f for f in node.get("findings", ()) if f["check"] in _LOOKED_FOR}
    bad = [f"{check}: {f['found'] or f['reason'] or f['outcome']}" for check, f in sorted(found.items()) if f["outcome"] != "pass"]
    if bad or set(found) == set(_LOOKED_FOR):
        return "; ".join(bad)
    return str(node.get("detail") or "the node did not answer")


if __name__ == "__main__":
    sys.exit(report("query_node_health_agents", __doc__, read, Option("target", "nodes to validate", "all")))
