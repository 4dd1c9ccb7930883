"""nvidia-persistenced."""

from __future__ import annotations

from . import daemons


def main(argv: list[str], version: str) -> int:
    """Print the version, or run until SIGTERM."""
    if {"--version", "-v"} & set(argv):
        print(f"{argv[0].rpartition('/')[2]}: version {version} (simulated)")
        return 0
    return daemons.persistenced(version)
