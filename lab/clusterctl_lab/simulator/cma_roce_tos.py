"""cma_roce_tos."""

from __future__ import annotations

from .cma_roce import tos_command


def main(argv: list[str], _version: str) -> int:
    """Show or set the default type of service."""
    return tos_command(argv)
