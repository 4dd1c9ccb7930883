"""The content of the page of a run, without HTML."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.model.state import State

if TYPE_CHECKING:
    from clusterctl.model.records import RunRow
    from clusterctl.model.run_report import EvidenceLink
    from clusterctl.model.slow_class import SlowClass
    from clusterctl.report.alike import AlikeRows
    from clusterctl.report.curve_rows import CurveWords
    from clusterctl.report.details import PageData
    from clusterctl.report.load_words import LoadWords
    from clusterctl.report.margins import Margin
    from clusterctl.report.timeline_words import TimelineWords


@dataclass(frozen=True, slots=True)
class Tile:
    """A node in its rack.

    Attributes:
        label: the name, without what all nodes of the rack have in common where space is short.
        not_good: how many results are not good.
        margin: how far its lowest measurement is from its floor; None where nothing with a floor was measured.
        title: what the pointer shows, and what is read aloud.
    """

    name: str
    label: str
    state: State
    not_good: int
    margin: Margin | None
    title: str


@dataclass(frozen=True, slots=True)
class Rack:
    """A rack, nodes by slot."""

    name: str
    tiles: tuple[Tile, ...]

    @property
    def counts(self) -> dict[State, int]:
        """State -> number of nodes, in lifecycle order."""
        found = Counter(t.state for t in self.tiles)
        return {s: found[s] for s in State if found[s]}


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the heatmap.

    Attributes:
        value_gbps: None where nothing was measured.
        share: of the colour scale, from the floor (0) to the highest value (1).
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
        failures: what holds nodes back or failed, worst first; a few for the same nodes.
        more_failures: the others of these nodes.
        warnings: what is only shown: warnings, and nodes taken out on purpose.
        slow: classes that were slow as a whole.
        skews: versions that differ inside a scalable unit, for people.
        heatmap_of: the earlier runs that measured the heatmap; empty where this run did.
        data: what is drawn on demand.
        curves: what is to be looked at over time, in words.
        loads: what GPUs showed under load, in words; `loads_left`: how many with something to look at have no room.
        timeline: what took the time, in words; None where none was read.
    """

    run: RunRow
    status: str
    made_at: str
    racks: tuple[Rack, ...]
    failures: tuple[AlikeRows, ...]
    more_failures: tuple[AlikeRows, ...]
    warnings: tuple[AlikeRows, ...]
    slow: tuple[SlowClass, ...]
    skews: tuple[str, ...]
    heatmap: Heatmap
    heatmap_of: tuple[str, ...]
    links: tuple[EvidenceLink, ...]
    simulated: bool
    data: PageData
    curves: tuple[CurveWords, ...]
    loads: tuple[LoadWords, ...]
    loads_left: int
    timeline: TimelineWords | None

    @property
    def counts(self) -> dict[State, int]:
        """State -> number of nodes, in lifecycle order."""
        found = Counter(t.state for r in self.racks for t in r.tiles)
        return {s: found[s] for s in State if found[s]}

    @property
    def total(self) -> int:
        """Number of nodes in the run."""
        return sum(self.counts.values())

    @property
    def failed_nodes(self) -> int:
        """Number of nodes with a failure."""
        return len({n for group in self.failures for n in group.nodes})
