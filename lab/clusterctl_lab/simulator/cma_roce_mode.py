"""cma_roce_mode."""

from __future__ import annotations

from .cma_roce import mode_command


def main(argv: list[str], _version: str) -> int:
    """Show or set the default RoCE version."""
    return mode_command(argv)
