"""BFX06-01: failures of nodes that were sent to receivers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from delivered_events import delivered_events
from site_answers import Option, Site, report

if TYPE_CHECKING:
    import argparse

_FAILURE = "clusterctl.node.quarantined"


def read(site: Site, given: argparse.Namespace) -> dict[str, Any]:
    """The notices of nodes that were taken out because they failed."""
    notices = [
        {"machine_id": e["subject"], "type": e["type"], "message": e["data"]["reason"], "notified_at": e["time"]}
        for e in delivered_events(site, given)
        if e["type"] == _FAILURE
    ]
    return {"notification_channel_observable": True, "notifications": notices}


if __name__ == "__main__":
    sys.exit(report("query_failure_notifications", __doc__, read, Option("delivered", "file of a receiver, relative to the site")))
