"""BFX06-01: failures of nodes that were sent to receivers.

clusterctl keeps no copy of what was delivered. A receiver with the command `tee -a FILE` does, and --delivered names that file.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from site_answers import NotAnsweredError, NotShownError, Option, Site, report

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

_FAILURE = "clusterctl.node.quarantined"
_NONE = {"notification_channel_observable": False, "notifications": []}


def read(site: Site, given: argparse.Namespace) -> dict[str, Any]:
    """The notices of nodes that were taken out because they failed."""
    if not given.delivered:
        raise NotShownError("no receiver keeps what it got; name its file with --delivered", **_NONE)
    try:
        text = (site.folder / given.delivered).read_text(encoding="utf-8")
        events = list(_documents(text))
    except (OSError, ValueError) as e:
        raise NotAnsweredError(f"{given.delivered}: {e}", **_NONE) from e
    notices = [
        {"machine_id": e["subject"], "type": e["type"], "message": e["data"]["reason"], "notified_at": e["time"]}
        for e in events
        if e["type"] == _FAILURE
    ]
    return {"notification_channel_observable": True, "notifications": notices}


def _documents(text: str) -> Iterator[dict[str, Any]]:
    """JSON documents that follow one another, with or without line ends."""
    decoder, rest = json.JSONDecoder(), text.lstrip()
    while rest:
        found, end = decoder.raw_decode(rest)
        yield dict(found)
        rest = rest[end:].lstrip()


if __name__ == "__main__":
    sys.exit(report("query_failure_notifications", __doc__, read, Option("delivered", "file of a receiver, relative to the site")))
