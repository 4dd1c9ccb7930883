"""What the web view reads: every call opens the store and closes it, so that the state of the moment is shown and nothing is held in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.fleet_days import beside_fleet, figure_of
from clusterctl.core.measured_series import measured_series
from clusterctl.model.browsed import NodePage, RunPage
from clusterctl.model.errors import NothingRecordedError, UnknownNodeError
from clusterctl.model.overview import Overview
from clusterctl.model.own_history import LAST_RUNS
from clusterctl.model.web_documents import RunProgress
from clusterctl.workflows.node_story import node_story
from clusterctl.workflows.status import hardware_of_all, overview

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from clusterctl.adapters.store import Store
    from clusterctl.model.recorded_hardware import RecordedHardware
    from clusterctl.model.records import RunRow
    from clusterctl.model.run_comparison import ComparisonDocument

_RUNS = 50


class Browser:
    """Reads the record of a site. Threads can share it.

    Raises:
        StoreError: from every method, where the database cannot be used.
    """

    def __init__(self, store_url: str) -> None:
        self._store_url = store_url

    def fleet(self) -> Overview:
        """All nodes; none where none is recorded yet."""
        try:
            return overview(self._store_url, "all")
        except NothingRecordedError:
            return Overview((), {})

    def hardware(self, names: Iterable[str] | None = None) -> Mapping[str, RecordedHardware]:
        """The hardware of these nodes, or of all, by their recorded parts; nodes without one are left out."""
        if names is None:
            return hardware_of_all(self._store_url)
        with self._store() as store:
            return store.hardware(names)

    def node(self, name: str) -> NodePage:
        """A node by its exact name.

        Raises:
            UnknownNodeError: it is not recorded.
        """
        with self._store() as store:
            record = store.node(name)
            if record is None:
                raise UnknownNodeError(target=name, near="")
            series = measured_series(store.past_results([name], bad_ones=True), LAST_RUNS)
            fleet = store.fleet_of_runs({figure_of(s) for s in series}, record.profile, {p.run_id for s in series for p in s.points})
            return NodePage(node_story(store, record, _RUNS), tuple(beside_fleet(s, record.profile, fleet) for s in series))

    def runs(self) -> tuple[Sequence[RunRow], frozenset[str]]:
        """The newest runs, newest first, and the ids of those whose process is gone."""
        with self._store() as store:
            return store.runs(_RUNS), frozenset(r.id for r in store.unfinished_runs())

    def run(self, run_id: str) -> RunPage:
        """A run by its id, a unique prefix of it, or `last`.

        Raises:
            UnknownRunError: no run matches, or several do.
        """
        with self._store() as store:
            row = store.run(run_id)
            return RunPage(row, frozenset(r.id for r in store.unfinished_runs()), store.run_nodes(row.id), store.phase_counts(row.id))

    def comparison(self, before: str, after: str) -> ComparisonDocument:
        """The second run against the first.

        Raises:
            UnknownRunError: there is no such run, or several match.
        """
        from clusterctl.workflows.compare_two_runs import compare_two_runs  # noqa: PLC0415 parsers, which no other page needs

        with self._store() as store:
            return compare_two_runs(store, before, after)

    def progress(self) -> tuple[RunProgress, ...]:
        """The runs in progress, oldest first."""
        with self._store() as store:
            rows = store.runs_in_progress()
            return tuple(RunProgress(r.id, r.verb, r.target, r.operator, r.started_at, store.phase_counts(r.id)) for r in rows)

    def _store(self) -> Store:
        from clusterctl.adapters.store import Store as OpenedStore  # noqa: PLC0415 `--help` must not pay for it

        return OpenedStore.open_to_read(self._store_url)
