"""BFX01-03: give a rack back for maintenance: all of its nodes, or the request was not accepted.

The circuit breaker of clusterctl may refuse a whole rack; then a person drains it with --force.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from site_answers import NotAnsweredError, Option, Site, report

if TYPE_CHECKING:
    import argparse

# those at the vendor's, and those that are gone, are with the provider already
_OUT = frozenset({"maintenance", "rma", "retired"})


def read(site: Site, given: argparse.Namespace) -> dict[str, Any]:
    """What became of the request."""
    if not any(n["rack"] == given.rack_id for n in site.nodes()):
        raise NotAnsweredError(f"no recorded node is in the rack {given.rack_id!r}")
    moved = site.ask("drain", given.rack_id, "--to", "maintenance", "--reason", given.reason)["nodes"]
    refused = [m for m in moved if m["state"] not in _OUT]
    operation = {"requested": True, "accepted": not refused, "rack_id": given.rack_id, "nodes": len(moved)}
    why = "; ".join(f"{m['name']}: {m['reason']}" for m in refused)
    return {"operation": operation | ({"message": why} if refused else {})}


if __name__ == "__main__":
    options = (
        Option("rack-id", "name of the rack", required=True),
        Option("reason", "why, for the record", "rack returned for maintenance"),
    )
    sys.exit(report("return_rack_maintenance", __doc__, read, *options))
