"""nvidia-imex."""

from __future__ import annotations

from . import daemons


def main(argv: list[str], version: str) -> int:
    """Answer `--version`, or stay."""
    if {"--version", "-v"} & set(argv):
        print(f"IMEX version is: {version} (simulated)")
        return 0
    return daemons.imex(version)
