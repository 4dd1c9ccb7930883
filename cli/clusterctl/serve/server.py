"""Listens on an address or a Unix socket until a signal ends it."""

from __future__ import annotations

import errno
import logging
import os
import signal
import socket
import stat
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from clusterctl.model.errors import ListenError
from clusterctl.serve.app import web_app
from clusterctl.serve.connection import PromptConnection

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import FrameType

    from clusterctl.serve.access import Access
    from clusterctl.serve.source import Source

_STOP_WITHIN_S = 3
# Connections beyond this are answered with 503: each stream of events keeps one.
_MOST_CONNECTIONS = 256
_WAITING = 128
_HINTS = {
    errno.EADDRINUSE: "another program listens there: choose another --port, or end it",
    errno.EACCES: "this user may not: choose a port of 1024 or higher, or a folder of yours",
    errno.EADDRNOTAVAIL: "no interface of this machine has this address: `ip address` lists them",
}


def listen(address: str, port: int) -> socket.socket:
    """A listening socket; of `localhost` on 127.0.0.1.

    Raises:
        ListenError: the address is in use, or does not belong to this machine.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a restart need not wait for old connections
    try:
        made.bind(("127.0.0.1" if address == "localhost" else address, port))
        made.listen(_WAITING)
    except OSError as e:
        made.close()
        raise _refused(f"{address} port {port}", e) from e
    return made


def listen_unix(path: Path) -> socket.socket:
    """A listening socket that this user and its group can reach; the socket of an earlier process is replaced.

    Raises:
        ListenError: another process listens there, or the socket cannot be created.
    """
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_dead(path)
        before = os.umask(0o117)
        try:
            made.bind(str(path))
        finally:
            os.umask(before)
        made.listen(_WAITING)
    except OSError as e:
        made.close()
        raise _refused(str(path), e) from e
    return made


def _remove_dead(path: Path) -> None:
    if not path.exists() or not stat.S_ISSOCK(path.stat().st_mode):
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()


def _refused(where: str, error: OSError) -> ListenError:
    hint = _HINTS.get(error.errno or 0, "see --bind, --port and --unix")
    return ListenError(where=where, detail=os.strerror(error.errno) if error.errno else str(error), hint=hint)


class _Stoppable(uvicorn.Server):
    """A server that ends at SIGINT and SIGTERM, and remembers which it was; a second one ends it at once."""

    def __init__(self, config: uvicorn.Config, stop: threading.Event, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self.stop = stop
        self.on_start = on_start
        self.stopped_by: signal.Signals | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's; from now on requests are served, and signals shut it down cleanly."""
        await super().startup(sockets=sockets)
        self.on_start()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """In place of uvicorn's own, which raises the signal again at its end."""
        before = {s: signal.signal(s, self._end) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def _end(self, number: int, _frame: FrameType | None) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True
        self.stopped_by = self.stopped_by or signal.Signals(number)
        self.stop.set()
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # a request that is cut off at shutdown is not an error


def serve_until_stopped(source: Source, access: Access, listening: socket.socket, on_start: Callable[[], None]) -> signal.Signals | None:
    """Serve requests until a signal ends it; returns the signal."""
    stop = threading.Event()
    path = listening.getsockname() if listening.family == socket.AF_UNIX else ""
    config = uvicorn.Config(
        web_app(source, access, stop.is_set),
        access_log=False,
        http=PromptConnection,
        lifespan="off",
        limit_concurrency=_MOST_CONNECTIONS,
        log_config=None,
        loop="asyncio",
        proxy_headers=False,  # else a header could set the address that a request comes from
        server_header=False,
        timeout_graceful_shutdown=_STOP_WITHIN_S,
        ws="none",
    )
    server = _Stoppable(config, stop, on_start)
    try:
        server.run(sockets=[listening])
    finally:
        if path:
            Path(path).unlink(missing_ok=True)
    return server.stopped_by
