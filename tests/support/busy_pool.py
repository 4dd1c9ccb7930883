"""A pool whose jobs outlast the removal of their nodes, without a scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.pools.vacating import wait_until_empty
from clusterctl.model.errors import PoolUnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from clusterctl.adapters.store.store import Store


class BusyPool(LocalPool):
    """Jobs by node. They end when they were asked for `questions` times; `silent`: the scheduler does not answer."""

    def __init__(self, store: Store, jobs: Mapping[str, str], *, questions: int = 1000, silent: bool = False) -> None:
        super().__init__(store)
        self._jobs, self._questions, self._silent = dict(jobs), questions, silent

    def busy(self, nodes: Collection[str]) -> Mapping[str, str]:
        """See `Vacating.busy`."""
        if self._silent:
            raise PoolUnreachableError(detail="slurmctld does not answer: Connection refused", hint="`scontrol ping` shows whether it runs")
        self._questions -= 1
        return {n: j for n, j in self._jobs.items() if n in nodes} if self._questions >= 0 else {}

    def vacate(self, nodes: Collection[str], waiting: Callable[[Mapping[str, str]], None]) -> Mapping[str, str]:
        """See `Vacating.vacate`."""
        return wait_until_empty(lambda: self.busy(nodes), waiting, limit_s=0.05, pause_s=0.01)
