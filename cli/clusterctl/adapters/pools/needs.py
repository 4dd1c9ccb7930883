"""Pools that need something on the controller: programs of the scheduler, credentials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from clusterctl.adapters.pools.base import Pool
    from clusterctl.adapters.pools.settings import PoolSettings
    from clusterctl.model.doctor_check import Check


@runtime_checkable
class Needing(Protocol):
    """What the class of a pool offers in addition if it needs something on this machine, for `doctor` to show."""

    @classmethod
    def needs(cls, settings: Any, /) -> tuple[Check, ...]:
        """A check for each thing that it needs under these settings. No scheduler is contacted, no program started."""
        ...


def pool_needs(backend: type[Pool], settings: PoolSettings) -> tuple[Check, ...]:
    """`Needing.needs`, where the pool has it."""
    return backend.needs(settings) if isinstance(backend, Needing) else ()
