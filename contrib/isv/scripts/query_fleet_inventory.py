"""CAP02-01: a record for each node.

A machine is identified by its serial. On bare metal the instance of a tenant is the machine under its name. It was created when it was
admitted; one that is not in service, when its machine was first seen. Account, project and region are the site's: options and labels.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from site_answers import NotAnsweredError, Option, Site, report

if TYPE_CHECKING:
    import argparse


def read(site: Site, given: argparse.Namespace) -> dict[str, Any]:
    """The records; a field that is not recorded is empty or null, and fails its node."""
    nodes, labels, first_seen = site.nodes("--ask-pool"), site.labels(), _first_seen(site)
    records = [_record(n, labels.get(n["name"], {}), first_seen.get(n["name"], ""), given) for n in nodes]
    if any(n["in_use"] is None for n in nodes):
        raise NotAnsweredError("the pool does not report which nodes run jobs", nodes=records)
    return {"nodes_checked": len(records), "nodes": records}


def _record(node: dict[str, Any], labels: dict[str, str], first_seen: str, given: argparse.Namespace) -> dict[str, Any]:
    return {
        "node_id": node["serial"],
        "health_state": "healthy" if node["healthy"] else "unhealthy",
        "instance_id": node["name"],
        "created_at": node["admitted_at"] or first_seen,
        "hardware_type": node["hardware_type"],
        "gpu_count": node["gpus"],
        "account_id": labels.get(given.tenant_label) or given.account,
        "project_id": labels.get(given.project_label, ""),
        "in_use": node["in_use"],
        "region": given.region,
    }


def _first_seen(site: Site) -> dict[str, str]:
    found = site.ask("inventory", "--parts")["nodes"]
    return {n["name"]: p["first_seen"] for n in found for p in n["parts"] if p["kind"] == "system"}


if __name__ == "__main__":
    options = (
        Option("region", "where the nodes are"),
        Option("account", "account of nodes without a tenant"),
        Option("tenant-label", "label of node_labels whose value is the tenant"),
        Option("project-label", "label of node_labels whose value is the tenant's project"),
    )
    sys.exit(report("query_fleet_inventory", __doc__, read, *options))
