"""What the page of a run shows. Frozen, plain, free of HTML."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.gates.model import Outcome
from clusterctl.lifecycle import State
from clusterctl_validators.finding import GOOD

if TYPE_CHECKING:
    from clusterctl.findings import NodeFindings
    from clusterctl.gates.model import GateResult
    from clusterctl.store.records import NodeRecord, RunRow, TransitionRow

_SHORT = 12
_WORST_FIRST = {Outcome.FAIL: 0, Outcome.COULD_NOT_RUN: 1, Outcome.WAIVED: 2, Outcome.PASS: 3, Outcome.NOT_APPLICABLE: 4}


@dataclass(frozen=True, slots=True)
class Link:
    """A file of the run directory, relative to the page."""

    text: str
    href: str


@dataclass(frozen=True, slots=True)
class NodeSection:
    """A node in a run.

    Attributes:
        state, reason: as the run left it.
        findings_earlier, gates_earlier: the evidence is the newest of an earlier run; this run gathered none.
        links: its raw evidence.
    """

    record: NodeRecord
    state: State
    reason: str
    findings: NodeFindings | None
    findings_earlier: bool
    gate_results: tuple[GateResult, ...]
    gates_earlier: bool
    steps: tuple[TransitionRow, ...]
    links: tuple[Link, ...]

    @property
    def name(self) -> str:
        """The node's name."""
        return self.record.name

    @property
    def not_good(self) -> int:
        """How many findings and gate results are not good."""
        found = self.findings.findings if self.findings else ()
        return sum(f.outcome not in GOOD for f in found) + sum(g.outcome not in GOOD for g in self.gate_results)

    @property
    def is_open(self) -> bool:
        """Whether its section shows at once: it was quarantined, or is short and not yet in the pool."""
        return self.state is State.QUARANTINED or (self.state is not State.ADMITTED and 0 < self.not_good <= _SHORT)

    @property
    def checks(self) -> dict[str, int]:
        """Outcome -> number of findings."""
        found = self.findings.findings if self.findings else ()
        return dict(Counter(f.outcome.value for f in sorted(found, key=lambda f: _WORST_FIRST[f.outcome])))

    @property
    def gates(self) -> tuple[GateResult, ...]:
        """The gate results, worst first."""
        return tuple(sorted(self.gate_results, key=lambda g: _WORST_FIRST[g.outcome]))


@dataclass(frozen=True, slots=True)
class Rack:
    """A rack, nodes by slot."""

    name: str
    nodes: tuple[NodeSection, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of the heatmap.

    Attributes:
        value_gbps: None where nothing was measured.
        share: of the colour scale, 0 to 1.
        is_low: below the floor.
        failed: it was tried and gave no number.
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
    """A run, told on one page.

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
    links: tuple[Link, ...]
    simulated: bool

    @property
    def counts(self) -> dict[State, int]:
        """State -> number of nodes, in the order of a node's life."""
        found = Counter(n.state for r in self.racks for n in r.nodes)
        return {s: found[s] for s in State if found[s]}

    @property
    def total(self) -> int:
        """How many nodes the run had."""
        return sum(self.counts.values())
