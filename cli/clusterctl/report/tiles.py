"""Racks of tiles. Pure."""

from __future__ import annotations

from itertools import groupby, takewhile
from typing import TYPE_CHECKING

from clusterctl.model.state import State
from clusterctl.report.margins import lowest_margin
from clusterctl.report.model import Rack, Tile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clusterctl.model.run_report import NodeSection

# Up to here a tile has room for the whole name and its margin.
_FEW = 144
_LONGEST_REASON = 160


def tiled_racks(sections: Sequence[NodeSection]) -> Iterator[Rack]:
    """The racks in the order of the sections."""
    for name, group in groupby(sections, key=lambda s: s.record.rack):
        members = tuple(group)
        common = 0 if len(sections) <= _FEW else _common(members)
        yield Rack(name, tuple(_tile(s, common) for s in members))


def is_dense(racks: Sequence[Rack]) -> bool:
    """Whether there are so many nodes that tiles are small."""
    return sum(len(r.tiles) for r in racks) > _FEW


def _common(members: Sequence[NodeSection]) -> int:
    """Length of what the names share, cut after a separator."""
    first, last = min(s.name for s in members), max(s.name for s in members)
    shared = "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False)))
    return shared.rfind("-") + 1 if len(members) > 1 else 0


def _tile(section: NodeSection, common: int) -> Tile:
    # Results that no longer count are not shown of an admitted node.
    gone = section.gates_earlier is not None and not section.gates_earlier.counts and section.state is State.ADMITTED
    margin = None if gone else lowest_margin(section.gate_results)
    words = f"{section.name}: {section.state.value.replace('_', ' ')}"
    if margin:
        words += f"; {margin.text} from the floor of {margin.what}"
    if section.state is not State.ADMITTED and section.reason:
        words += f"; {section.reason[:_LONGEST_REASON]}"
    return Tile(section.name, section.name[common:], section.state, section.not_good, margin, words)
