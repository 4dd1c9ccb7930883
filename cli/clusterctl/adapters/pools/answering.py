"""A scheduler that restarts while nodes enter its pool: waited for, so that a minute of it does not cost the admission of a rack."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clusterctl.model.errors import PoolError, PoolStateUnknownError, PoolUnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from clusterctl.adapters.pools.base import Pool

# slurm.conf(5): a backup slurmctld takes over after SlurmctldTimeout, 120 s by default, and reads the saved state then.
# Assumed: a scheduler that is to come back answers within ten minutes.
LIMIT_S = 600.0
_PAUSE_S = 5.0


def _unseen(_error: PoolError) -> None:
    """Nobody watches."""


@dataclass(slots=True)
class Answering:
    """A pool, and whether its scheduler answers: found out after each answer that was lost.

    Attributes:
        limit_s: how long it is waited for, all waits together. Later than that no node is tried, for each would wait for its time limits.
        in_doubt: whether it must be found out before the next change.
        waiting: called with why, once for each wait.
        pause_s: between two attempts.
    """

    pool: Pool
    limit_s: float = 0.0
    in_doubt: bool = False
    waiting: Callable[[PoolError], None] = _unseen
    pause_s: float = _PAUSE_S
    _gone: PoolUnreachableError | None = field(default=None, init=False)

    def require(self) -> None:
        """Return when it answers: at once where nothing is in doubt.

        Raises:
            PoolUnreachableError: it does not answer within what is left of the limit; nothing was changed.
        """
        if self._gone:
            raise self._gone
        if not self.in_doubt:
            return
        until, is_reported = time.monotonic() + self.limit_s, False
        while error := self._lost():
            left_s = until - time.monotonic()
            if left_s <= 0:
                self._gone = error
                raise error
            if not is_reported:
                self.waiting(error)
                is_reported = True
            time.sleep(min(self.pause_s, left_s))
        self.limit_s, self.in_doubt = max(0.0, until - time.monotonic()), False

    def note(self, error: PoolError) -> None:
        """A change of the pool ended with this error."""
        self.in_doubt = self.in_doubt or isinstance(error, (PoolUnreachableError, PoolStateUnknownError))

    def _lost(self) -> PoolUnreachableError | None:
        try:
            self.pool.members()
        except PoolUnreachableError as e:
            return e
        return None
