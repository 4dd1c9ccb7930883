"""A client that sends no request keeps no place of the others, whether it may read or not."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest
import uvicorn

from clusterctl.serve import connection
from clusterctl.serve.connection import PromptConnection
from support.web_site import app_of, write_site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ASK = b"GET /api/v1/fleet HTTP/1.1\r\nHost: localhost\r\n\r\n"
SILENT = {"nothing": (), "half of a request": (ASK[:20],), "half of a second one": (ASK, ASK[:20])}


@contextmanager
def served(folder: Path) -> Iterator[int]:
    write_site(folder, "")
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app_of(folder), log_config=None, lifespan="off", http=PromptConnection, limit_concurrency=4))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(timeout=10)


def connected(port: int, *sent: bytes) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), timeout=5)
    for part in sent:
        made.sendall(part)
        time.sleep(0.2)
    return made


def status(port: int) -> bytes:
    with connected(port, ASK) as asking:
        return asking.recv(4096).split(b" ")[1]


@pytest.mark.parametrize("silent", SILENT)
def test_who_sends_no_whole_request_is_let_go(silent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_REQUEST_WITHIN_S", 1.0)
    with served(tmp_path) as port, ExitStack() as held:
        for _ in range(4):
            held.enter_context(connected(port, *SILENT[silent]))
        until = time.monotonic() + 4
        while status(port) != b"200" and time.monotonic() < until:
            time.sleep(0.1)
        assert status(port) == b"200"
