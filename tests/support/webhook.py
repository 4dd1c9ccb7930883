"""A webhook on loopback that answers as it is told."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self


@dataclass(frozen=True)
class Got:
    """A request that came."""

    headers: dict[str, str]
    event: dict[str, Any]


@dataclass
class Webhook:
    """A context manager. `statuses` are the answers in order, then 204; `delay_s` comes before each; `drip` sends the answer one byte every 0.2 s."""

    statuses: list[int] = field(default_factory=list)
    delay_s: float = 0
    drip: bool = False
    location: str = ""
    got: list[Got] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/hook"

    @property
    def events(self) -> list[dict[str, Any]]:
        """What was posted."""
        return [got.event for got in self.got]

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.got.append(Got(dict(self.headers), json.loads(body)))
                time.sleep(hook.delay_s)
                status = hook.statuses.pop(0) if hook.statuses else 204
                answer = f"HTTP/1.0 {status} x\r\n{f'Location: {hook.location}{chr(13)}{chr(10)}' if hook.location else ''}\r\n".encode()
                try:
                    for byte in answer if hook.drip else ():
                        self.wfile.write(bytes([byte]))
                        time.sleep(0.2)
                    if not hook.drip:
                        self.wfile.write(answer)
                except OSError:
                    return

            def log_message(self, *_: object) -> None:
                """Nothing."""

        return Handler
