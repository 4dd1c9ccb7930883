"""cma_roce_mode."""

from __future__ import annotations

from .cma_roce import mode


def main(argv: list[str], _version: str) -> int:
    """Show or set it."""
    return mode(argv)
