"""NET01-01: the leaf, spine and core switches above a node, as the inventory declares them.

clusterctl has no variable for core switches. A site that has them declares them as a label of `node_labels`; a fabric of two tiers has none,
and fails, because the suite requires all three.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from site_answers import NotAnsweredError, Option, Site, report

if TYPE_CHECKING:
    import argparse


def read(site: Site, given: argparse.Namespace) -> dict[str, Any]:
    """The switches by tier."""
    node = next((n for n in site.ask("inventory")["nodes"] if n["name"] == given.node_id), None)
    if node is None:
        raise NotAnsweredError(f"no node of the inventory is called {given.node_id!r}", node_id=given.node_id)
    place = node["place"]
    leaves = sorted({*node["rail_leaves"].values()} or {place["leaf"]} - {""})
    core = node["labels"].get(given.core_label, "")
    tiers = {"leaf": leaves, "spine": [place["spine"]] if place["spine"] else [], "core": [core] if core else []}
    tests = {f"{tier}_switch_ids_present": _passed(tier, bool(found)) for tier, found in tiers.items()}
    fields = {
        "node_id": given.node_id,
        "fabric": {f"{tier}_switch_ids": found for tier, found in tiers.items()},
        "tests": {"node_resolved": {"passed": True}, **tests},
    }
    if missing := [tier for tier, found in tiers.items() if not found]:
        raise NotAnsweredError(f"the inventory declares no {' and no '.join(missing)} switch of {given.node_id}", **fields)
    return fields


def _passed(tier: str, present: bool) -> dict[str, Any]:
    return {"passed": True} if present else {"passed": False, "error": f"the inventory declares no {tier} switch"}


if __name__ == "__main__":
    options = (
        Option("node-id", "name of the node", required=True),
        Option("core-label", "label of node_labels whose value is the core switch"),
    )
    sys.exit(report("backend_switch_fabric", __doc__, read, *options))
