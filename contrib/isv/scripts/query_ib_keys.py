"""SDN04-05: whether the ports of the nodes have P_Keys of partitions. The other keys are those of the subnet manager, which clusterctl does not query."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from port_keys import DEFAULT_PARTITION, TARGET, keys_by_node, partition_of
from site_answers import Site, report

if TYPE_CHECKING:
    import argparse

_OF_THE_SUBNET_MANAGER = (
    "management_key",
    "aggregation_management_key",
    "vendor_specific_key",
    "congestion_control_key",
    "node2node_key",
    "manager2node_key",
)


def read(site: Site, given: argparse.Namespace) -> dict[str, Any]:
    """`configured` is null for what cannot be seen: the suite skips the check then, and shows what was seen."""
    keys = keys_by_node(site, given.target)
    partitions = {partition_of(k) for of_node in keys.values() for k in of_node} - {DEFAULT_PARTITION}
    unseen = {"configured": None, "source": "subnet manager", "detail": "clusterctl does not query the subnet manager"}
    detail = f"{len(partitions)} partitions besides the default one at the ports of {len(keys)} nodes"
    seen = {"configured": bool(partitions), "source": "ports of the nodes", "detail": detail}
    return {"partitions_with_pkey": len(partitions), "keys": {"p_key": seen} | dict.fromkeys(_OF_THE_SUBNET_MANAGER, unseen)}


if __name__ == "__main__":
    sys.exit(report("query_ib_keys", __doc__, read, TARGET))
