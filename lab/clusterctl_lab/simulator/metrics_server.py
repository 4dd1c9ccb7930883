"""A minimal exporter: serves the text of a function at /metrics, with a first line that marks it as simulated."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SIMULATED_HEADER = "# simulated by clusterctl lab: no real hardware was measured\n"


def option_value(argv: list[str], *names: str, default: str = "") -> str:
    """The value of an option given as `--name=value` or `--name value`."""
    for word, following in zip(argv, [*argv[1:], ""], strict=False):
        name, equals, value = word.partition("=")
        if name in names:
            return value if equals else following
    return default


def serve_metrics(listen: str, metrics: Callable[[], str]) -> int:
    """Serve until the program is terminated."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = (SIMULATED_HEADER + metrics()).encode() if self.path == "/metrics" else b"<a href=/metrics>metrics</a>\n"
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the base class names it so
            """Do not log requests."""

    host, _, port = listen.rpartition(":")
    with ThreadingHTTPServer((host.strip("[]") or "0.0.0.0", int(port)), Handler) as server:  # noqa: S104 like the real exporters
        server.serve_forever()
    return 0
