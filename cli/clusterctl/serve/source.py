"""Where the web view gets results from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from clusterctl.model.browsed import NodePage, RunPage
    from clusterctl.model.overview import Overview
    from clusterctl.model.recorded_hardware import RecordedHardware
    from clusterctl.model.records import RunRow
    from clusterctl.model.run_comparison import ComparisonDocument
    from clusterctl.model.web_documents import RunProgress


class Source(Protocol):
    """Reads the record; `workflows.browse.Browser` does. Threads share it."""

    def fleet(self) -> Overview:
        """All nodes."""
        ...

    def hardware(self, names: Iterable[str] | None = None) -> Mapping[str, RecordedHardware]:
        """Hardware by node, from the recorded parts of these nodes or of all; nodes without a recorded part are left out."""
        ...

    def node(self, name: str) -> NodePage:
        """A node by its exact name."""
        ...

    def runs(self) -> tuple[Sequence[RunRow], frozenset[str]]:
        """The newest runs, and the ids of those whose process is gone."""
        ...

    def run(self, run_id: str) -> RunPage:
        """A run by its id, a unique prefix of it, or `last`."""
        ...

    def comparison(self, before: str, after: str) -> ComparisonDocument:
        """The second run against the first."""
        ...

    def progress(self) -> tuple[RunProgress, ...]:
        """The runs in progress."""
        ...
