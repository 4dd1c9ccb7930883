"""Tables of bandwidth as the page's script draws them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.report.inert import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterctl.report.heatmap import Cell, Grid, Heatmap

# What a cell shows: nothing was measured, a value at or above its floor, a value below it, a measurement that failed.
NOTHING, FINE, LOW, FAILED = range(4)


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        corner: what the rows and columns are.
        rows: heading and cells: (what it shows, value in Gb/s, share of the colour scale, title).
    """

    title: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[int, float, float, str], ...]], ...]

    @property
    def has_low(self) -> bool:
        """Whether any cell is below the floor or failed."""
        return any(c[0] in (LOW, FAILED) for _, cells in self.rows for c in cells)


def tables(heatmap: Heatmap) -> Iterator[Table]:
    """The overview, then rail by rail."""
    if heatmap.overview:
        yield _table(heatmap.overview, "median of", with_titles=True)
    for rail in heatmap.rails:
        yield _table(rail, "from, to", with_titles=False)


def _table(grid: Grid, corner: str, *, with_titles: bool) -> Table:
    rows = tuple((visible(heading), tuple(_cell(c, with_title=with_titles) for c in cells)) for heading, cells in grid.rows)
    return Table(visible(grid.title), corner, tuple(visible(c) for c in grid.columns), rows)


def _cell(cell: Cell, *, with_title: bool) -> tuple[int, float, float, str]:
    if cell.value_gbps is None:
        return (FAILED if cell.failed else NOTHING, 0, 0, visible(cell.title) if cell.failed else "")
    # of a pair, headings and value are enough
    title = visible(cell.title) if with_title or cell.is_low else ""
    return (LOW if cell.is_low else FINE, round(cell.value_gbps, 1), round(cell.share, 2), title)
