"""Runs before all routes: rejects clients that may not read and methods that do not read, and sets the headers of every response."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.datastructures import MutableHeaders

from clusterctl.serve.access import Denial, denial
from clusterctl.serve.answers import problem

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from clusterctl.serve.access import Access

READING = ("GET", "HEAD")
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_WHY = {
    Denial.NO_TOKEN: (401, "the token is missing or wrong", "send it as `Authorization: Bearer TOKEN`; in a browser as the password"),
    Denial.NO_USER: (403, "the request does not come from the reverse proxy, or names no user", "send it through the reverse proxy"),
    Denial.OTHER_HOST: (
        403,
        "this name is not one of this machine",
        "open http://localhost or http://127.0.0.1; for other names start it with --token-file, or let the reverse proxy use --unix",
    ),
}


class Guard:
    """An ASGI application around another."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request; protocols other than HTTP are not supported."""
        if scope["type"] != "http":
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        client = scope.get("client")
        why = denial(self._access, scope["headers"], client[0] if client else None)
        if why:
            status, detail, hint = _WHY[why]
            answer = problem(status, detail, hint)
            # in lines of their own: Chromium accepts the first scheme of a line only
            for scheme in ("Bearer", "Basic") if why is Denial.NO_TOKEN else ():
                answer.headers.append("WWW-Authenticate", f'{scheme} realm="clusterctl"')
            await answer(scope, receive, with_headers)
        elif scope["method"] not in READING:
            hint = "it only reads; change nodes with `clusterctl`"
            await problem(405, f"{scope['method']} is not possible", hint, {"Allow": ", ".join(READING)})(scope, receive, with_headers)
        else:
            await self._app(scope, receive, with_headers)
