"""NET02-02: the NVLink domain of a node, as the inventory declares it.

Where none is declared, it is unknown whether the node has no NVLink or only no domain beyond its own board: the step fails.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from site_answers import NotAnsweredError, Option, Site, report

if TYPE_CHECKING:
    import argparse


def read(site: Site, given: argparse.Namespace) -> dict[str, Any]:
    """The domain."""
    node = next((n for n in site.ask("inventory")["nodes"] if n["name"] == given.node_id), None)
    domain = node["place"]["nvlink_domain"] if node else ""
    fields: dict[str, Any] = {
        "node_id": given.node_id,
        "tests": {
            "node_resolved": {"passed": node is not None},
            "nvlink_support_detected": {"passed": bool(domain)},
            "nvlink_domain_id_present": {"passed": bool(domain)},
        },
    }
    if node is None:
        raise NotAnsweredError(f"no node of the inventory is called {given.node_id!r}", **fields)
    if not domain:
        raise NotAnsweredError(f"the inventory declares no nvlink_domain of {given.node_id}", **fields)
    return fields | {"nvlink_supported": True, "nvlink_domain_id": domain}


if __name__ == "__main__":
    sys.exit(report("nvlink_domain", __doc__, read, Option("node-id", "name of the node", required=True)))
