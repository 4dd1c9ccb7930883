"""What is being done now, and what waits: for `status --runs`."""

from __future__ import annotations

from clusterctl.adapters import clock
from clusterctl.adapters.store import Store
from clusterctl.core import timestamps
from clusterctl.model.shard import RunsOverview

_ENDED_SHOWN_S = 86_400


def runs_overview(store_url: str) -> RunsOverview:
    """The runs in progress, the workers, and the shards: those that are open, and those that ended within a day.

    Raises:
        StoreError: the database cannot be used.
    """
    now = clock.now()
    with Store.open_to_read(store_url) as store:
        runs = store.runs_in_progress()
        shards = [s for s in store.shards() if not s.ended or s.ended_at > timestamps.after(now, -_ENDED_SHOWN_S)]
        return RunsOverview(runs, {r.id: store.phase_counts(r.id) for r in runs}, shards, store.workers(), now)
