"""The content of the page of a run, without HTML."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.model.state import State

if TYPE_CHECKING:
    from clusterctl.model.records import RunRow
    from clusterctl.model.run_report import EvidenceLink, NodeSection


@dataclass(frozen=True, slots=True)
class Rack:
    """A rack, nodes by slot."""

    name: str
    nodes: tuple[NodeSection, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the heatmap.

    Attributes:
        value_gbps: None where nothing was measured.
        share: of the colour scale, 0 to 1.
        is_low: below the floor.
        failed: the measurement failed.
        title: what the pointer shows.
    """

    value_gbps: float | None
    share: float = 0.0
    is_low: bool = False
    failed: bool = False
    title: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of bandwidths; `rows` is (heading, cells)."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]

    @property
    def has_low(self) -> bool:
        """Whether any cell is below the floor or failed."""
        return any(c.is_low or c.failed for _, cells in self.rows for c in cells)


@dataclass(frozen=True, slots=True)
class Heatmap:
    """Pair bandwidths: the median of each node and HCA over its partners (one bad partner does not spoil it), and each rail's pairs.

    Attributes:
        scale_gbps: the value of the darkest colour.
        problem: why there is no (complete) heatmap; empty where there is.
    """

    overview: Grid | None
    rails: tuple[Grid, ...]
    scale_gbps: float = 0.0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """The page of a run.

    Attributes:
        status: of the run; `unfinished` where it was killed.
        unlisted: how many good nodes have no section of their own, because there are so many.
    """

    run: RunRow
    status: str
    made_at: str
    racks: tuple[Rack, ...]
    sections: tuple[NodeSection, ...]
    unlisted: int
    heatmap: Heatmap
    links: tuple[EvidenceLink, ...]
    simulated: bool

    @property
    def counts(self) -> dict[State, int]:
        """State -> number of nodes, in lifecycle order."""
        found = Counter(n.state for r in self.racks for n in r.nodes)
        return {s: found[s] for s in State if found[s]}

    @property
    def total(self) -> int:
        """Number of nodes in the run."""
        return sum(self.counts.values())
