"""CAP03-01: newly delivered capacity is in the record under an identifier that does not change: the serial of its machine."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from site_answers import NotShownError, Option, Site, report

if TYPE_CHECKING:
    import argparse


def read(site: Site, given: argparse.Namespace) -> dict[str, Any]:
    """What the polls saw. A node whose serial has not been read yet has no identifier, and fails."""
    polls, pause_s = max(1, int(given.polls)), max(0, int(given.poll_interval))
    seen: list[list[dict[str, Any]]] = []
    for number in range(polls):
        if number:
            time.sleep(pause_s)
        seen.append(site.nodes())
    if not any(seen):
        raise NotShownError("no node is delivered")
    gone = {n["serial"] for n in seen[0]} - {n["serial"] for n in seen[-1]} - {""}
    resources = [{"resource_id": n["serial"], "discovered": bool(n["serial"])} for n in seen[-1]]
    return {
        "polls": polls,
        "poll_interval_seconds": pause_s,
        "unstable_identifiers": sorted(gone),
        "resources_checked": len(resources),
        "resources": resources,
    }


if __name__ == "__main__":
    options = (Option("polls", "how often to poll", "2"), Option("poll-interval", "seconds between two polls", "5"))
    sys.exit(report("query_resource_discovery", __doc__, read, *options))
