"""What an inventory declares, by group of nodes with the same spec."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterctl.model.node import NodeSpec


@dataclass(frozen=True, slots=True)
class SpecGroup:
    """A spec and the nodes that it is declared for; `profile` is that of the first."""

    profile: str
    nodes: tuple[str, ...]
    spec: NodeSpec


@dataclass(frozen=True, slots=True)
class InventoryCheck:
    """What was checked without finding a problem.

    Attributes:
        profiles: those that have no node.
        store_problem: why waivers were not compared with the checks of earlier validations; empty if they were, or need not be.
    """

    nodes: int
    specs: int
    profiles: tuple[str, ...]
    store_problem: str = ""
