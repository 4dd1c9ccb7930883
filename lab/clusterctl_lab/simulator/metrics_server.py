"""A tiny exporter: serves what a function returns at /metrics, with a first line that says it is simulated."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SIMULATED_HEADER = "# simulated by clusterctl lab: no real hardware was measured\n"


def option_value(argv: list[str], *names: str, default: str = "") -> str:
    """The value of `--name=value` or `--name value`."""
    for word, following in zip(argv, [*argv[1:], ""], strict=False):
        name, equals, value = word.partition("=")
        if name in names:
            return value if equals else following
    return default


def serve_metrics(listen: str, metrics: Callable[[], str]) -> int:
    """Answer until the program is ended."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = (SIMULATED_HEADER + metrics()).encode() if self.path == "/metrics" else b"<a href=/metrics>metrics</a>\n"
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the base class names it so
            """No line per request."""

    host, _, port = listen.rpartition(":")
    with ThreadingHTTPServer((host.strip("[]") or "0.0.0.0", int(port)), Handler) as server:  # noqa: S104 as the real one
        server.serve_forever()
    return 0
