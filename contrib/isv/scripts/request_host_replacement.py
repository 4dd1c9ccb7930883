"""BFX01-05: request another machine in place of one that crossed a health threshold; it leaves the pool for the vendor.

A threshold is crossed where clusterctl quarantined the node, or a limit of `lemon_limits` is reached. A healthy machine is left alone.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from site_answers import NotShownError, Option, Site, report

if TYPE_CHECKING:
    import argparse

_OPERATION = {"requested": False, "node_removed_from_pool": False}


def read(site: Site, given: argparse.Namespace) -> dict[str, Any]:
    """What became of the request; whether the node is out is read anew afterwards."""
    name = site.name_of(given.machine_id)
    why = _crossed(site, name)
    if not why:
        raise NotShownError(f"{given.machine_id} crossed no threshold: nothing was requested", operation=_OPERATION)
    site.ask("drain", name, "--to", "rma", "--reason", f"{given.reason}: {why}")
    (after,) = site.ask("status", name)["nodes"]
    removed = after["state"] == "rma"
    operation = {"requested": True, "node_removed_from_pool": removed, "machine_id": given.machine_id, "message": after["reason"]}
    return {"operation": operation}


def _crossed(site: Site, name: str) -> str:
    (node,) = site.ask("status", name)["nodes"]
    if node["state"] == "quarantined":
        return str(node["reason"])
    worst = [s for s in site.ask("history", name, "--worst")["serials"] if s["over_limit"]]
    return f"{worst[0]['name']} {worst[0]['serial']} is over a limit of lemon_limits" if worst else ""


if __name__ == "__main__":
    options = (
        Option("machine-id", "name or serial of the node", required=True),
        Option("reason", "why, for the record", "replacement requested"),
    )
    sys.exit(report("request_host_replacement", __doc__, read, *options))
