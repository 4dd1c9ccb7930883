"""BFX02-01: the nodes that are out for maintenance now, and those for which it is announced."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from site_answers import Site, machine_id, report

if TYPE_CHECKING:
    import argparse

_OUT = frozenset({"drained", "maintenance", "rma"})


def read(site: Site, _given: argparse.Namespace) -> dict[str, Any]:
    """Each with who took it out or announced it, when and why. A node for which work is announced may be in service still."""
    nodes = site.nodes()
    current = [
        {"machine_id": machine_id(n), "status": n["state"], "message": n["reason"], "opened_by": n["owner"], "since": n["since"]}
        for n in nodes
        if n["state"] in _OUT
    ]
    planned = [
        {
            "machine_id": machine_id(n),
            "status": "planned",
            "message": p["reason"],
            "opened_by": p["operator"],
            "begins_at": p["begins_at"],
            "ends_at": p["ends_at"],
        }
        for n in nodes
        for p in n["planned_maintenance"]
    ]
    return {"events_queryable": True, "events": current + planned}


if __name__ == "__main__":
    sys.exit(report("query_maintenance_events", __doc__, read))
