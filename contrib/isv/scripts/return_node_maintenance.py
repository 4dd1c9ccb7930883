"""BFX01-02: give a node back for maintenance. It leaves the pool, and stays out until a person includes it again."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from site_answers import Option, Site, report

if TYPE_CHECKING:
    import argparse


def read(site: Site, given: argparse.Namespace) -> dict[str, Any]:
    """What became of the request."""
    name = site.name_of(given.machine_id)
    (moved,) = site.ask("drain", name, "--to", "maintenance", "--reason", given.reason)["nodes"]
    accepted = moved["state"] == "maintenance"
    operation = {"requested": True, "accepted": accepted, "machine_id": given.machine_id, "maintenance_mode": accepted}
    return {"operation": operation | ({} if accepted else {"message": moved["reason"]})}


if __name__ == "__main__":
    options = (
        Option("machine-id", "name or serial of the node", required=True),
        Option("reason", "why, for the record", "returned for maintenance"),
    )
    sys.exit(report("return_node_maintenance", __doc__, read, *options))
