"""SDN04-05: whether the ports of the nodes have P_Keys of partitions, and an M_Key. The other keys are the subnet manager's, which clusterctl does not query."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from port_keys import DEFAULT_PARTITION, TARGET, findings_by_node, keys_by_node, m_key_outcomes, partition_of
from site_answers import Site, report

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

_OF_THE_SUBNET_MANAGER = (
    "aggregation_management_key",
    "vendor_specific_key",
    "congestion_control_key",
    "node2node_key",
    "manager2node_key",
)
_PORTS = "ports of the nodes"


def read(site: Site, given: argparse.Namespace) -> dict[str, Any]:
    """`configured` is null for what cannot be seen: the suite skips the check then, and shows what was seen."""
    findings = findings_by_node(site, given.target, with_m_key=True)
    keys = keys_by_node(findings)
    partitions = {partition_of(k) for of_node in keys.values() for k in of_node} - {DEFAULT_PARTITION}
    unseen = {"configured": None, "source": "subnet manager", "detail": "clusterctl does not query the subnet manager"}
    detail = f"{len(partitions)} partitions besides the default one at the ports of {len(keys)} nodes"
    seen = {"configured": bool(partitions), "source": _PORTS, "detail": detail}
    shown = {"p_key": seen, "management_key": management_key(m_key_outcomes(findings))}
    return {"partitions_with_pkey": len(partitions), "keys": shown | dict.fromkeys(_OF_THE_SUBNET_MANAGER, unseen)}


def management_key(outcomes: Mapping[str, set[str]]) -> dict[str, Any]:
    """One unprotected port is enough to fail; a key is claimed only where every port of every node is protected."""
    bare = sorted(n for n, found in outcomes.items() if "fail" in found)
    unread = sorted(n for n, found in outcomes.items() if found != {"pass"})
    if bare:
        return {"configured": False, "source": _PORTS, "detail": f"no M_Key protects ports of {_some(bare, outcomes)}"}
    if unread:
        why = f"infiniband_m_key is not declared, or the M_Key was not seen, on {_some(unread, outcomes)}"
        return {"configured": None, "source": _PORTS, "detail": why}
    return {"configured": True, "source": _PORTS, "detail": f"an M_Key protects all declared ports of {len(outcomes)} nodes"}


def _some(nodes: list[str], of: Mapping[str, set[str]]) -> str:
    return f"{len(nodes)} of {len(of)} nodes: {', '.join(nodes[:5])}"


if __name__ == "__main__":
    sys.exit(report("query_ib_keys", __doc__, read, TARGET))
