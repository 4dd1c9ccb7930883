"""nv-hostengine."""

from __future__ import annotations

from . import daemons


def main(argv: list[str], version: str) -> int:
    """Answer `--version`, or stay."""
    if "--version" in argv:
        print(f"Version : {version}\nBuild ID : 0\nBuild Type : simulated")
        return 0
    return daemons.hostengine()
