"""nv-fabricmanager."""

from __future__ import annotations

from . import daemons


def main(argv: list[str], version: str) -> int:
    """Print the version, or run until SIGTERM."""
    if {"--version", "-v"} & set(argv):
        print(f"Fabric Manager version is : {version}\nBuild Info - Branch: simulated, Changelist: 0")
        return 0
    return daemons.fabricmanager(version)
