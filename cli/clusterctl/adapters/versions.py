"""The versions a run is recorded under."""

from __future__ import annotations

import platform
from importlib.metadata import version


def versions() -> dict[str, str]:
    """Of clusterctl, its parts that decide on results, and Python."""
    return {name: version(name) for name in ("clusterctl", "ansible-core", "ansible-runner", "pytest")} | {
        "python": platform.python_version()
    }
