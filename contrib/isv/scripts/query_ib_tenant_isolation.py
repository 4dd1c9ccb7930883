"""SDN04-04: the InfiniBand partitions of the nodes, each with the tenant whose nodes are in it.

Read at the ports of the nodes, not from the subnet manager: machines that are not in the inventory may be in the same partitions.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from port_keys import TARGET, findings_by_node, is_management, keys_by_node, partition_of
from site_answers import NotAnsweredError, NotShownError, Option, Site, report

if TYPE_CHECKING:
    import argparse


def read(site: Site, given: argparse.Namespace) -> dict[str, Any]:
    """A partition once for each tenant whose nodes are in it; the tenant is empty for nodes without one."""
    if not given.tenant_label:
        raise NotAnsweredError("no pool reports the tenant of a node: name a label of node_labels with --tenant-label")
    keys, labels = keys_by_node(findings_by_node(site, given.target)), site.labels()
    members: dict[tuple[int, str], set[str]] = {}
    for node, of_node in keys.items():
        for key in of_node:
            if not is_management(key):
                members.setdefault((partition_of(key), labels.get(node, {}).get(given.tenant_label, "")), set()).add(node)
    if not members:
        raise NotShownError("no port is in a partition besides that of the subnet manager")
    partitions = [_partition(number, tenant, len(nodes)) for (number, tenant), nodes in sorted(members.items())]
    return {"partitions_checked": len(partitions), "partitions": partitions}


def _partition(number: int, tenant: str, nodes: int) -> dict[str, Any]:
    return {"name": f"{number:#06x} {tenant}".strip(), "partition_key": f"{number:#06x}", "tenant_id": tenant, "nodes": nodes}


if __name__ == "__main__":
    options = (TARGET, Option("tenant-label", "label of node_labels whose value is the tenant"))
    sys.exit(report("query_ib_tenant_isolation", __doc__, read, *options))
