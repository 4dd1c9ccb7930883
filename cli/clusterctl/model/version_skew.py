"""Nodes of one scalable unit that were measured with different versions of a tool."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VersionNodes:
    """A version, and the nodes that have it."""

    version: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VersionSkew:
    """A result of the group: its nodes are not peers of each other.

    Attributes:
        unit: the scalable unit; empty where none is declared, and all nodes are one.
        versions: at least two, that of most nodes first.
    """

    unit: str
    gate: str
    tool: str
    versions: tuple[VersionNodes, ...]
