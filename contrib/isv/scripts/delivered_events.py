"""The events that a receiver got.

clusterctl keeps no copy of what was delivered. A receiver with the command `tee -a FILE` does, and --delivered names that file.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from site_answers import NotAnsweredError, NotShownError, Site

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

_NONE = {"notification_channel_observable": False, "notifications": []}


def delivered_events(site: Site, given: argparse.Namespace) -> list[dict[str, Any]]:
    """The events in the file, oldest first.

    Raises:
        NotShownError: no file is named.
        NotAnsweredError: it cannot be read.
    """
    if not given.delivered:
        raise NotShownError("no receiver keeps what it got; name its file with --delivered", **_NONE)
    try:
        return list(_documents((site.folder / given.delivered).read_text(encoding="utf-8")))
    except (OSError, ValueError) as e:
        raise NotAnsweredError(f"{given.delivered}: {e}", **_NONE) from e


def _documents(text: str) -> Iterator[dict[str, Any]]:
    """JSON documents that follow one another, with or without line ends."""
    decoder, rest = json.JSONDecoder(), text.lstrip()
    while rest:
        found, end = decoder.raw_decode(rest)
        yield dict(found)
        rest = rest[end:].lstrip()
