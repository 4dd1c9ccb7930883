"""The store as its users see it: one object, one method per question, each a small transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters import clock
from clusterctl.adapters.store import schema
from clusterctl.adapters.store.admissions import AdmissionRepository
from clusterctl.adapters.store.drift import DriftRepository
from clusterctl.adapters.store.engine import connect
from clusterctl.adapters.store.evidence import EvidenceRepository
from clusterctl.adapters.store.leases import LeaseRepository
from clusterctl.adapters.store.members import MemberRepository
from clusterctl.adapters.store.nodes import NodeRepository
from clusterctl.adapters.store.runs import RunRepository
from clusterctl.adapters.store.transitions import TransitionRepository

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self


class Store(
    NodeRepository,
    TransitionRepository,
    RunRepository,
    EvidenceRepository,
    AdmissionRepository,
    LeaseRepository,
    MemberRepository,
    DriftRepository,
):
    """Durable state. Usable as a context manager; safe to share between threads."""

    @classmethod
    def open(cls, url: str, clock: Callable[[], str] = clock.now) -> Store:
        """Open, and create or migrate, the database at a SQLAlchemy URL.

        Raises:
            StoreError: it cannot be used; says why and what to do.
        """
        engine = connect(url)
        schema.ensure(engine)
        return cls(engine, clock)

    def close(self) -> None:
        """Give back the connections."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
