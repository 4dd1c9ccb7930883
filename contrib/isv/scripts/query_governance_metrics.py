"""CAP01-01: delivered, healthy, reserved and active, in nodes and GPUs.

`active` is `in_use` of clusterctl, as the pool reports it. No pool reports the tenant of a node: `reserved` counts the nodes with the label
that the site sets for it in `node_labels` of its inventory.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from site_answers import NotAnsweredError, Option, Site, report

if TYPE_CHECKING:
    import argparse


def read(site: Site, given: argparse.Namespace) -> dict[str, Any]:
    """All four, or why one of them is unknown; the others are returned with the error."""
    found = site.ask("status", "--ask-pool")
    nodes, gpus = dict(found["counts"]), dict(found["gpu_counts"])
    gap = ""
    if given.tenant_label:
        labels = site.labels()
        held = [n for n in found["nodes"] if n["state"] != "retired" and labels.get(n["name"], {}).get(given.tenant_label)]
        nodes["reserved"], gpus["reserved"] = len(held), sum(n["gpus"] or 0 for n in held)
    else:
        gap = "no pool reports the tenant of a node; name a label of node_labels with --tenant-label"
    if nodes["in_use"] is None:
        gap = "the pool does not report which nodes run jobs"
    if gpus["uncounted_nodes"]:
        gap = f"no part is recorded of {gpus['uncounted_nodes']} nodes: `clusterctl inventory TARGET --parts --read` reads them"
    ours = {"delivered": "delivered", "healthy": "healthy", "reserved": "reserved", "active": "in_use"}
    metrics = {theirs: {"nodes": nodes[name], "gpus": gpus[name]} for theirs, name in ours.items()}
    if gap:
        raise NotAnsweredError(gap, metrics=metrics)
    return {"machine_count": nodes["delivered"], "metrics": metrics}


if __name__ == "__main__":
    label = Option("tenant-label", "label of node_labels whose value is the tenant")
    sys.exit(report("query_governance_metrics", __doc__, read, label))
