"""A database server that restarts or fails over in the middle of a run: each new connection is tried for a while, so that hours of burn-in are not lost."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import event

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Dialect, Engine

# Failovers by Patroni cost GitLab.com 1 to 3 minutes (gl-infra/infrastructure, issue 7790); one begins after `ttl`, 30 s by default.
LIMIT_S = 180.0
_PAUSE_S = 1.0


@contextmanager
def server_waited_for(engine: Engine) -> Iterator[None]:
    """Try a connection that is not established again within `LIMIT_S`: nothing was sent yet, so nothing is done twice. SQLite has no server."""
    if engine.dialect.name == "sqlite":
        yield
        return

    def connect(dialect: Dialect, _record: Any, args: Any, words: Any) -> Any:
        until = time.monotonic() + LIMIT_S
        while True:
            try:
                return dialect.connect(*args, **words)
            except dialect.loaded_dbapi.OperationalError:
                if time.monotonic() > until:
                    raise
            time.sleep(_PAUSE_S)

    event.listen(engine, "do_connect", connect)
    try:
        yield
    finally:
        event.remove(engine, "do_connect", connect)
