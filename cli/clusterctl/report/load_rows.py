"""Loads of GPUs -> what the page draws when a node is opened. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.model.load_trace import LOAD_FIGURES, LoadTrace
from clusterctl.report.curve_rows import number_text
from clusterctl.report.load_words import ends_of, ends_text, gpus_text, measured_text, notes, remark_text, why_text
from clusterctl.report.series_drawing import LARGE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from clusterctl.model.load_trace import LoadFigure, NodeLoads

    Place = Callable[[str], int]

_SHOWN = tuple(enumerate(LOAD_FIGURES))
_NOTHING = "--"


@dataclass(frozen=True, slots=True)
class LoadPanel:
    """One figure of all GPUs over time, on one scale.

    Attributes:
        what, top, bottom, summary: its name, the ends of its scale, and all of it as text for screen readers.
        heights: of each GPU, two hexadecimal digits for each moment, or `--` where it has no value: a third less than a list.
    """

    what: int
    top: int
    bottom: int
    summary: int
    heights: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LoadData:
    """A load; numbers are indices into the texts of the page.

    Attributes:
        across: where each moment is.
        gpus: names; the first `named` of them are those that results name.
        slowed: of each GPU a 1 for each moment at which something held it back, else a 0; empty where nothing did.
        heads, rows: a table of the same.
        notes: what is not in the picture.
        simulated: 0 or 1.
    """

    what: int
    across: tuple[float, ...]
    gpus: tuple[int, ...]
    named: int
    slowed: tuple[str, ...]
    panels: tuple[LoadPanel, ...]
    heads: tuple[int, ...]
    rows: tuple[tuple[int, ...], ...]
    notes: tuple[int, ...]
    simulated: int


@dataclass(frozen=True, slots=True)
class NodeLoadData:
    """The load of a node by a gate, and its repeat. `node`: its place; `missing`: why others are not drawn, as places of texts."""

    node: int
    drawn: tuple[LoadData, ...]
    missing: tuple[int, ...]


def loads_data(loads: Sequence[NodeLoads], nodes: Mapping[str, int], place: Place) -> Iterator[NodeLoadData]:
    """All loads, with their texts put into their places."""
    for one in loads:
        yield NodeLoadData(
            nodes[one.node],
            tuple(_load_data(load, measured_text(one, load), place) for load in one.loads if isinstance(load, LoadTrace)),
            tuple(place(f"{measured_text(one, m)}: {why_text(m)}") for m in one.loads if not isinstance(m, LoadTrace)),
        )


def _load_data(load: LoadTrace, what: str, place: Place) -> LoadData:
    shown = [(i, figure) for i, figure in _SHOWN if any(gpu.ends[i] for gpu in load.gpus)]
    width = LARGE.width - 2 * LARGE.edge
    first_s, last_s = load.span_s
    span = (last_s - first_s) or 1.0
    return LoadData(
        what=place(what),
        across=tuple(round(LARGE.edge + width * (s - first_s) / span, 1) for s in load.moments),
        gpus=tuple(place(g.device) for g in load.gpus),
        named=sum(g.is_named for g in load.gpus),
        slowed=tuple("".join(str(int(i in g.slowed)) for i in range(len(load.moments))) if g.slowed else "" for g in load.gpus),
        panels=tuple(_panel(load, i, figure, ends_text(load.span_s, "s"), place) for i, figure in shown),
        heads=tuple(map(place, ("GPU", *(figure.name for _, figure in shown), "slowdown"))),
        rows=tuple(
            tuple(map(place, (g.device, *(ends_text(g.ends[i], figure.unit) for i, figure in shown), remark_text(g, load))))
            for g in load.gpus
        ),
        notes=tuple(map(place, notes(load))),
        simulated=int(load.simulated),
    )


def _panel(load: LoadTrace, i: int, figure: LoadFigure, times: str, place: Place) -> LoadPanel:
    known = [v for gpu in load.gpus for v in gpu.values[i] if v is not None]
    low, high = min(known), max(known)
    span = (high - low) or 1.0
    tall = LARGE.height - 2 * LARGE.edge

    def up(value: float | None) -> str:
        return _NOTHING if value is None else f"{round(LARGE.height - LARGE.edge - tall * (value - low) / span):02x}"

    return LoadPanel(
        what=place(f"{figure.name} in {figure.unit}, {times}"),
        top=place(number_text(high)),
        bottom=place(number_text(low)),
        summary=place(_summary(load, i, figure, times)),
        heights=tuple("".join(map(up, gpu.values[i])) for gpu in load.gpus),
    )


def _summary(load: LoadTrace, i: int, figure: LoadFigure, times: str) -> str:
    """`SM clock over 0 to 930 s: gpu6 742 to 890 MHz; 7 others 1480 to 1485 MHz; slowed down: gpu6`."""
    groups = [*([g] for g in load.gpus if g.is_named), [g for g in load.gpus if not g.is_named]]
    parts = [f"{gpus_text(gpus)} {ends_of(gpus, i) or 'not shown'}" for gpus in groups if gpus]
    slowed = [g.device for g in load.gpus if g.slowed_samples]
    return "; ".join((f"{figure.name} over {times}: {parts[0]}", *parts[1:], *([f"slowed down: {', '.join(slowed)}"] if slowed else [])))
