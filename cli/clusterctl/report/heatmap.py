"""Raw records of `rdma_pair` -> tables of bandwidth. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from clusterctl.core.gates.judging.reading import read_record
from clusterctl.core.gates.rdma_pair import GATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from clusterctl.model.gate_result import GateResult, RawRecord

# A larger matrix is unreadable; the overview still shows the lowest value of each rail.
_MOST_NODES = 40


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
class _Run:
    """One measured pair, from its client's side."""

    node: str
    peer: str
    device: str
    peer_device: str
    value_gbps: float | None
    problem: str


def build_heatmap(records: Iterable[RawRecord], results: Iterable[GateResult]) -> Heatmap:
    """The heatmap of a run; floors come from what the judge expected of each HCA."""
    runs = [_run(r) for r in records if r.gate == GATE.name and r.step.endswith(".client")]
    if not runs:
        return Heatmap(None, (), problem="no pair was measured in this run")
    floors = _floors(results)
    scale = max([r.value_gbps for r in runs if r.value_gbps is not None] + [*floors.values(), 1.0])
    nodes = sorted({n for r in runs for n in (r.node, r.peer)})
    devices = sorted({d for r in runs for d in (r.device, r.peer_device)}, key=_natural)
    by_end: dict[tuple[str, str], list[_Run]] = defaultdict(list)
    for run in runs:
        by_end[run.node, run.device].append(run)
        by_end[run.peer, run.peer_device].append(run)
    overview = Grid(
        "median of each node and HCA over its partners",
        tuple(devices),
        tuple((n, _overview_row(n, by_end, devices, floors, scale)) for n in nodes),
    )
    if len(nodes) > _MOST_NODES:
        return Heatmap(overview, (), scale, f"{len(nodes)} nodes are too many for a table of pairs")
    rails = sorted({r.device for r in runs}, key=_natural)
    return Heatmap(overview, tuple(_rail(runs, d, nodes, floors, scale) for d in rails), scale)


def _run(record: RawRecord) -> _Run:
    reading = read_record(GATE, record)
    values = [s.value for s in reading.samples if s.metric == GATE.metric]
    value = values[-1] if values and not reading.rule else None
    return _Run(record.node, record.peer, record.device, record.peer_device, value, reading.detail or "no bandwidth in the output")


def _floors(results: Iterable[GateResult]) -> dict[tuple[str, str], float]:
    return {(r.node, r.device): r.limit for r in results if r.gate == GATE.name and r.limit is not None}


def _overview_row(
    node: str,
    by_end: Mapping[tuple[str, str], Sequence[_Run]],
    devices: Sequence[str],
    floors: Mapping[tuple[str, str], float],
    scale: float,
) -> tuple[Cell, ...]:
    return tuple(_median(by_end.get((node, d), ()), floors.get((node, d), 0.0), scale, f"{node} {d}") for d in devices)


def _median(runs: Sequence[_Run], floor: float, scale: float, what: str) -> Cell:
    measured = [r for r in runs if r.value_gbps is not None]
    if not measured:
        why = runs[0].problem if runs else "not measured"
        return Cell(None, failed=bool(runs), title=f"{what}: {why}")
    values = sorted(r.value_gbps for r in measured if r.value_gbps is not None)
    lowest = min(measured, key=lambda r: r.value_gbps or 0.0)
    title = f"{what}, median of {len(values)}; lowest {values[0]:.1f} Gb/s, {lowest.node} to {lowest.peer}"
    return _cell(median(values), floor, scale, title)


def _rail(runs: Sequence[_Run], device: str, nodes: Sequence[str], floors: Mapping[tuple[str, str], float], scale: float) -> Grid:
    by_pair: dict[tuple[str, str], _Run] = {}
    for run in (r for r in runs if r.device == device):
        by_pair[run.node, run.peer] = run
        by_pair.setdefault((run.peer, run.node), run)
    rows = tuple((n, tuple(_pair(by_pair.get((n, p)), n, p, floors, scale) for p in nodes)) for n in nodes)
    return Grid(device, tuple(nodes), rows)


def _pair(run: _Run | None, node: str, peer: str, floors: Mapping[tuple[str, str], float], scale: float) -> Cell:
    if run is None:
        return Cell(None, title="" if node == peer else f"{node} and {peer} were not measured together")
    what = f"{run.node} {run.device} to {run.peer} {run.peer_device}"
    if run.value_gbps is None:
        return Cell(None, failed=True, title=f"{what}: {run.problem}")
    floor = min((f for f in (floors.get((run.node, run.device)), floors.get((run.peer, run.peer_device))) if f), default=0.0)
    return _cell(run.value_gbps, floor, scale, what)


def _cell(value: float, floor: float, scale: float, what: str) -> Cell:
    limit = f", floor {floor:g}" if floor else ""
    # From the floor, not from 0: what is just above its floor must not look like the best.
    share = (value - floor) / (scale - floor) if scale > floor else 1.0
    return Cell(value, min(1.0, max(0.0, share)), is_low=value < floor, title=f"{what}: {value:.1f} Gb/s{limit}")


def _natural(name: str) -> tuple[object, ...]:
    return tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in re.split(r"(\d+)", name))
