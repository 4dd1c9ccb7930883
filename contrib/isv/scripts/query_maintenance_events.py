"""BFX02-01: the nodes that are out for maintenance now. Maintenance that is only planned is not in the record."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from site_answers import Site, machine_id, report

if TYPE_CHECKING:
    import argparse

_OUT = frozenset({"drained", "maintenance", "rma"})


def read(site: Site, _given: argparse.Namespace) -> dict[str, Any]:
    """Each with who took it out, when and why."""
    events = [
        {"machine_id": machine_id(n), "status": n["state"], "message": n["reason"], "opened_by": n["owner"], "since": n["since"]}
        for n in site.nodes()
        if n["state"] in _OUT
    ]
    return {"events_queryable": True, "events": events}


if __name__ == "__main__":
    sys.exit(report("query_maintenance_events", __doc__, read))
