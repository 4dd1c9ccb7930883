"""Asks an ASGI application without a network."""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.types import ASGIApp, Message, Scope

OWN_HOST = ("host", "127.0.0.1:8787")


@dataclass
class Answer:
    """What the application sent."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    app: ASGIApp,
    target: str,
    *,
    method: str = "GET",
    headers: Sequence[tuple[str, str]] | Mapping[str, str] = (),
    peer: str | None = "127.0.0.1",
    host: bool = True,
    raises: bool = True,
) -> Answer:
    """The answer to one request; `peer` None comes over a Unix socket, `host` adds the name of this machine. What the application raises is raised, unless `raises` is false."""
    path, _, query = target.partition("?")
    sent = [*(headers.items() if hasattr(headers, "items") else headers), *([OWN_HOST] if host else [])]
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(k.lower().encode("latin-1"), v.encode("latin-1")) for k, v in sent],
        "client": (peer, 1) if peer else None,
        "server": ("127.0.0.1", 8787),
    }
    answer = Answer()

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {k.decode().lower(): v.decode() for k, v in message["headers"]}
        else:
            answer.body += message.get("body", b"")

    with contextlib.nullcontext() if raises else contextlib.suppress(Exception):
        asyncio.run(app(scope, receive, send))  # type: ignore[arg-type]
    return answer
