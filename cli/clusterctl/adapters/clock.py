"""The current time. `core.timestamps` computes with it."""

from __future__ import annotations

from datetime import UTC, datetime

from clusterctl.core.timestamps import FORMAT


def now() -> str:
    """The current time, in the fixed-width format of `core.timestamps`."""
    return datetime.now(UTC).strftime(FORMAT)
