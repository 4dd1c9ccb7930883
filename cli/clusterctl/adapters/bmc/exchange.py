"""One request to a BMC and its answer, within one limit of time for the whole exchange: connection, handshake, headers and body."""

from __future__ import annotations

import contextlib
import socket
from dataclasses import dataclass
from http.client import HTTPException, HTTPSConnection
from threading import Event, Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator, Mapping

_LIMIT_BYTES = 32 * 1024 * 1024


class BmcError(Exception):
    """A BMC cannot be queried, or its answer lacks what is needed."""


@dataclass(frozen=True, slots=True)
class BmcRequest:
    """What is sent; `body` is empty for a GET."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class BmcAnswer:
    """What came back; redirects are not followed, because they would send the password to another host."""

    status: int
    reason: str
    body: bytes


def exchange(host: str, context: ssl.SSLContext, request: BmcRequest, limit_s: float) -> BmcAnswer:
    """Send one request to `host` (`NAME` or `NAME:PORT`) on a connection of its own.

    A socket's own limit starts again with each byte, so a server that sends one byte every two seconds would never reach it.

    Raises:
        BmcError: there is no whole answer of at most 32 MiB within `limit_s`.
    """
    try:
        connection = HTTPSConnection(host, timeout=limit_s, context=context)
    except HTTPException as e:
        raise BmcError("bmc_url is not https://HOST") from e
    with _hung_up_after(connection, limit_s) as late:
        try:
            connection.request(request.method, request.path, request.body or None, {**request.headers, "Connection": "close"})
            response = connection.getresponse()
            body = response.read(_LIMIT_BYTES + 1)
            missing = response.length or 0
        except (HTTPException, OSError, ValueError) as e:
            if late.is_set() or isinstance(e, TimeoutError):
                raise BmcError(f"cannot be reached: no whole answer within {limit_s:g} s") from e
            raise BmcError(f"cannot be reached: {_why(e)}") from e
    if late.is_set():
        raise BmcError(f"cannot be reached: no whole answer within {limit_s:g} s")
    if len(body) > _LIMIT_BYTES:
        raise BmcError(f"{request.path}: the answer is larger than {_LIMIT_BYTES} bytes")
    if missing:
        raise BmcError(f"{request.path}: the answer ended {missing} bytes too early")
    return BmcAnswer(response.status, response.reason, body)


@contextlib.contextmanager
def _hung_up_after(connection: HTTPSConnection, limit_s: float) -> Iterator[Event]:
    late = Event()

    def hang_up() -> None:
        late.set()
        with contextlib.suppress(OSError, AttributeError):
            connection.sock.shutdown(socket.SHUT_RDWR)

    timer = Timer(limit_s, hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()
        connection.close()


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return str(error.strerror or error)
    return f"it breaks off its answer, or sends no HTTP ({type(error).__name__})"
