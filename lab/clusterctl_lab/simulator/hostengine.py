"""nv-hostengine."""

from __future__ import annotations

from . import daemons


def main(argv: list[str], version: str) -> int:
    """Print the version, or run until SIGTERM."""
    if "--version" in argv:
        print(f"Version : {version}\nBuild ID : 0\nBuild Type : simulated")
        return 0
    return daemons.hostengine()
