"""A connection whose client must send a request: uvicorn waits without end for one, and keeps a place for it meanwhile."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

# Assumed: a client that has a request sends it whole within this time.
_REQUEST_WITHIN_S = 10.0


class PromptConnection(H11Protocol):
    """Ends where no whole request came in time, the first one or a later one."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """The time begins."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """What begins a request begins its time, and a whole one ends it."""
        super().data_received(data)
        if self._has_no_request():
            self._wait()
        elif self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _wait(self) -> None:
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().call_later(_REQUEST_WITHIN_S, self._end_if_late)

    def _end_if_late(self) -> None:
        self._deadline = None
        if self._has_no_request():
            self.transport.close()

    def _has_no_request(self) -> bool:
        return self.cycle is None or self.cycle.response_complete
