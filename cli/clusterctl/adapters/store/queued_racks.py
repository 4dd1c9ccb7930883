"""Whether a record has a queue, without opening it as a store: its schema is neither made nor migrated."""

from __future__ import annotations

from sqlalchemy import inspect, literal, select

from clusterctl.adapters.store.engine import connect, reading
from clusterctl.adapters.store.tables import shards, workers


def has_queued_racks(url: str) -> bool:
    """Whether racks were queued in a record in PostgreSQL, or a worker serves it.

    Raises:
        StoreError: its driver is missing, or the server does not answer.
    """
    engine = connect(url)
    try:
        with reading(engine) as connection:
            present = [t for t in (shards, workers) if inspect(connection).has_table(t.name)]
            return any(connection.execute(select(literal(1)).select_from(t).limit(1)).first() for t in present)
    finally:
        engine.dispose()
