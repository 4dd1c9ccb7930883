"""The store: one object with all repositories; each method is a short transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters import clock
from clusterctl.adapters.store import schema
from clusterctl.adapters.store.admissions import AdmissionRepository
from clusterctl.adapters.store.breaker_events import BreakerRepository
from clusterctl.adapters.store.curve_records import CurveRepository
from clusterctl.adapters.store.drift import DriftRepository
from clusterctl.adapters.store.engine import connect, connect_to_memory, connect_to_read, fenced, lacks_file, only_to_read
from clusterctl.adapters.store.evidence import EvidenceRepository
from clusterctl.adapters.store.leases import LeaseRepository
from clusterctl.adapters.store.measured_outcomes import OutcomeRepository
from clusterctl.adapters.store.members import MemberRepository
from clusterctl.adapters.store.nodes import NodeRepository
from clusterctl.adapters.store.notices import NoticeRepository
from clusterctl.adapters.store.observations import ObservationRepository
from clusterctl.adapters.store.part_records import PartRepository
from clusterctl.adapters.store.runs import RunRepository
from clusterctl.adapters.store.server_wait import server_waited_for
from clusterctl.adapters.store.shards import ShardRepository
from clusterctl.adapters.store.transitions import TransitionRepository
from clusterctl.adapters.store.troubles import TroubleRepository
from clusterctl.model.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from types import TracebackType
    from typing import Self

    from clusterctl.model.shard import Fence


class Store(
    NodeRepository,
    TransitionRepository,
    RunRepository,
    EvidenceRepository,
    OutcomeRepository,
    CurveRepository,
    AdmissionRepository,
    LeaseRepository,
    MemberRepository,
    BreakerRepository,
    NoticeRepository,
    DriftRepository,
    PartRepository,
    TroubleRepository,
    ObservationRepository,
    ShardRepository,
):
    """Durable state. A context manager; threads can share it."""

    @classmethod
    def open(cls, url: str, clock: Callable[[], str] = clock.now, fence: Fence | None = None) -> Store:
        """Open the database at a SQLAlchemy URL; creates or migrates it if needed. With a `fence`, it writes only while that is the newest.

        Raises:
            StoreError: it cannot be used; the error has the reason and a hint.
        """
        engine = connect(url)
        schema.ensure(engine)
        return cls(fenced(engine, fence) if fence else engine, clock)

    @classmethod
    def open_to_read(cls, url: str, clock: Callable[[], str] = clock.now) -> Store:
        """As `open`; where nothing can be written there (full disk, read-only), what is recorded can still be read.

        Creates no SQLite file: without one, nothing is recorded.

        Raises:
            StoreError: as `open`, of a database that cannot be read either.
        """
        if lacks_file(url):
            return cls._empty(clock)
        try:
            return cls.open(url, clock)
        except StoreError:
            engine = connect_to_read(url)
            if engine is None or not schema.is_present(engine):
                raise
            return cls(engine, clock)

    @classmethod
    def open_recorded(cls, url: str, clock: Callable[[], str] = clock.now) -> Store:
        """As `open`, for whoever changes what is recorded already: creates no SQLite file, because without one nothing is.

        Raises:
            StoreError: as `open`.
        """
        return cls._empty(clock) if lacks_file(url) else cls.open(url, clock)

    @classmethod
    def _empty(cls, clock: Callable[[], str]) -> Store:
        nothing = connect_to_memory()
        schema.ensure(nothing)
        return cls(only_to_read(nothing), clock)

    def waits_for_server(self) -> AbstractContextManager[None]:
        """Within it, a database server that restarts is waited for."""
        return server_waited_for(self._engine)

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
