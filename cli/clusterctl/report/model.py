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
    from clusterctl.report.heatmap import Heatmap
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
