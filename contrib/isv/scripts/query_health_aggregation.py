"""CAP05-02: the nodes of each rack, and how many are healthy: in service, and answered when last validated."""

from __future__ import annotations

import sys
from itertools import groupby
from typing import TYPE_CHECKING, Any

from site_answers import Site, machine_id, report

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


def read(site: Site, _given: argparse.Namespace) -> dict[str, Any]:
    """One group per rack; nodes without a rack are a group without a name."""
    nodes = sorted(site.nodes(), key=lambda n: str(n["rack"]))
    groups = [_group(rack, list(of_rack)) for rack, of_rack in groupby(nodes, lambda n: str(n["rack"]))]
    return {"aggregation_level": "nodegroup", "groups": groups}


def _group(rack: str, nodes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    unhealthy = [machine_id(n) for n in nodes if not n["healthy"]]
    counts = {"total": len(nodes), "healthy": len(nodes) - len(unhealthy), "unhealthy": len(unhealthy)}
    status = "Degraded" if unhealthy else "Healthy"
    return {"group_id": rack, "group_type": "rack", "name": rack, **counts, "status": status, "unhealthy_hosts": unhealthy}


if __name__ == "__main__":
    sys.exit(report("query_health_aggregation", __doc__, read))
