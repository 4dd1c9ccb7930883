"""What the web view reads of a node and of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.model.measurement_series import MeasurementSeries
    from clusterctl.model.node_story import Story
    from clusterctl.model.records import RunNodeRow, RunRow


@dataclass(frozen=True, slots=True)
class NodePage:
    """A node with what it measured over time."""

    story: Story
    measurements: tuple[MeasurementSeries, ...]


@dataclass(frozen=True, slots=True)
class RunPage:
    """A run with its nodes, by name; `unfinished`: the runs whose process is gone; `phases`: phase -> number of nodes."""

    run: RunRow
    unfinished: frozenset[str]
    nodes: Sequence[RunNodeRow]
    phases: Mapping[str, int]
