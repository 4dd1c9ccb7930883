"""Whether a record can be used, without opening it as a store: its schema is neither made nor migrated."""

from __future__ import annotations

from clusterctl.adapters.store import schema
from clusterctl.adapters.store.engine import connect, connect_to_read, refuse_emptied


def require_readable_record(url: str) -> None:
    """Refuse a record that no command could open. A SQLite file is there.

    Raises:
        StoreError: it cannot be read, its driver is missing, its server does not answer, or a newer clusterctl wrote it.
    """
    refuse_emptied(url)
    engine = connect_to_read(url) or connect(url)
    try:
        schema.require_readable(engine)
    finally:
        engine.dispose()
