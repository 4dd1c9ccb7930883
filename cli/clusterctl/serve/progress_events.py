"""Server-sent events for runs in progress: one after each change, and a keep-alive comment at intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from clusterctl.model.errors import ClusterctlError
from clusterctl.model.web_documents import ProblemDocument, ProgressDocument
from clusterctl.serve.answers import json_text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.requests import Request

    from clusterctl.serve.source import Source

EVENTS_PATH = "/api/v1/events"
_EVERY_S = 2.0
# Proxies end connections that are silent for a minute or so.
_SIGN_OF_LIFE_S = 20.0
_STOP_WITHIN_S = 0.2


def events_handler(source: Source, stopping: Callable[[], bool]) -> Callable[[Request], object]:
    """The handler of the stream; it ends soon after `stopping` becomes true."""

    async def handle(request: Request) -> Response:
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        return StreamingResponse(progress_events(source, stopping), media_type="text/event-stream")

    return handle


async def progress_events(source: Source, stopping: Callable[[], bool], every_s: float = _EVERY_S) -> AsyncIterator[bytes]:
    """The events, as they go over the wire."""
    last, silent_s = b"", 0.0
    while not stopping():
        event = await run_in_threadpool(_event, source)
        if event != last:
            last, silent_s = event, 0.0
            yield event
        elif silent_s >= _SIGN_OF_LIFE_S:
            silent_s = 0.0
            yield b": no change\n\n"
        for _ in range(round(every_s / _STOP_WITHIN_S)):
            if not stopping():
                await anyio.sleep(_STOP_WITHIN_S)
        silent_s += every_s


def _event(source: Source) -> bytes:
    try:
        name, text = b"progress", json_text(ProgressDocument, ProgressDocument(source.progress()))
    except ClusterctlError as e:
        name, text = b"problem", json_text(ProblemDocument, ProblemDocument(str(e), e.hint))
    return b"event: " + name + b"\ndata: " + text + b"\n\n"
