"""The function of processes that race for leases; must be importable by spawned interpreters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.store import Store
from clusterctl.model.errors import LeaseHeldError

if TYPE_CHECKING:
    import multiprocessing
    from multiprocessing.synchronize import Barrier


def acquire_in_race(url: str, run_id: str, names: list[str], start: Barrier, results: multiprocessing.Queue[tuple[str, str]]) -> None:
    """Acquire leases when all processes are ready. Reports `has`, or the run that holds them; ends when all have tried."""
    with Store.open(url) as store:
        start.wait(timeout=60)
        try:
            store.acquire(names, run_id=run_id, holder=run_id)
            results.put((run_id, "has"))
        except LeaseHeldError as e:
            results.put((run_id, str(e.values["run_id"])))
        start.wait(timeout=60)
