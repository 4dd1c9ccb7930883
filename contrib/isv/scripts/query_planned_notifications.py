"""BFX05-01: notices of planned maintenance that were recorded before it began and that a receiver got: one for each node that they name.

The time of an event is that of the record. When a receiver got it is not in it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from delivered_events import delivered_events
from site_answers import Option, Site, report

if TYPE_CHECKING:
    import argparse

# A cancelled notice announces no maintenance.
_AHEAD = frozenset({"clusterctl.maintenance.planned", "clusterctl.maintenance.moved"})


def read(site: Site, given: argparse.Namespace) -> dict[str, Any]:
    """A notice that was moved after it had begun is not a notice ahead."""
    notices = [
        {
            "machine_id": node,
            "type": e["type"],
            "message": e["data"]["reason"],
            "notified_at": e["time"],
            "begins_at": e["data"]["begins_at"],
            "ends_at": e["data"]["ends_at"],
        }
        for e in delivered_events(site, given)
        if e["type"] in _AHEAD and e["time"] < e["data"]["begins_at"]
        for node in e["data"]["nodes"]
    ]
    return {"notification_channel_observable": True, "notifications": notices}


if __name__ == "__main__":
    sys.exit(report("query_planned_notifications", __doc__, read, Option("delivered", "file of a receiver, relative to the site")))
