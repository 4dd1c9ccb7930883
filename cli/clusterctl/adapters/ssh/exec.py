"""One command over one connection: bounded output, a typed end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import asyncssh

from clusterctl.adapters.ssh.exec_result import Exited, TransportError, Trouble

if TYPE_CHECKING:
    from clusterctl.adapters.ssh.sudo import Sudo

_STDERR_LIMIT_BYTES = 64 * 1024


class _Session(asyncssh.SSHClientSession[bytes]):
    """Collects what the command says; callbacks cost less than streams."""

    def __init__(self, limit_bytes: int) -> None:
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.out: list[bytes] = []
        self.err: list[bytes] = []
        self.rc: int | None = None
        self.signal = ""
        self._heard = asyncio.Event()
        self._room = limit_bytes
        self._err_room = _STDERR_LIMIT_BYTES
        self._channel: asyncssh.SSHClientChannel[bytes] | None = None

    def connection_made(self, chan: asyncssh.SSHClientChannel[bytes]) -> None:
        self._channel = chan

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        if datatype == asyncssh.EXTENDED_DATA_STDERR:
            self.err.append(data[: max(0, self._err_room)])
            self._err_room -= len(data)
            self._heard.set()
            return
        self._room -= len(data)
        if self._room >= 0:
            self.out.append(data)
            return
        self.out.clear()
        self._end(TransportError(Trouble.TOO_MUCH_OUTPUT, "more output than an answer can have"))
        if self._channel:
            self._channel.abort()

    def exit_status_received(self, status: int) -> None:
        self.rc = status

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:
        del core_dumped, lang
        self.signal = f"{signal} {msg}".strip()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.rc is None and not self.signal:
            reason = getattr(exc, "reason", None) or str(exc or "") or "closed without an exit status"
            self._end(TransportError(Trouble.DISCONNECTED, f"connection lost while the command ran: {reason}"))
        self._end(None)

    def said(self) -> bytes:
        """All of stderr so far."""
        return b"".join(self.err)

    def forget(self, until: int) -> None:
        """Drop the first bytes of stderr."""
        self.err = [self.said()[until:]]

    def tell(self, data: bytes) -> None:
        """Write to the command's stdin; one that ended says why by its exit status."""
        if self._channel and not self._channel.is_closing():
            self._channel.write(data)

    async def more(self) -> bool:
        """Wait for more of stderr; False once the command has ended.

        Raises:
            TransportError: DISCONNECTED or TOO_MUCH_OUTPUT.
        """
        if self.ended.done():
            self.ended.result()
            return False
        await self._heard.wait()
        self._heard.clear()
        return True

    def _end(self, error: TransportError | None) -> None:
        if self.ended.done():
            return
        if error:
            self.ended.set_exception(error)
        else:
            self.ended.set_result(None)
        self._heard.set()


async def execute(
    connection: asyncssh.SSHClientConnection, command: str, stdin: bytes, limit_bytes: int, sudo: Sudo | None = None
) -> Exited:
    """Run `command` in the remote user's shell, `stdin` given to it (once `sudo` has let it in), to its end.

    Raises:
        TransportError: DISCONNECTED, TOO_MUCH_OUTPUT beyond `limit_bytes` of stdout, or what `sudo` ended with.
    """
    session = _Session(limit_bytes)
    try:
        channel, _ = await connection.create_session(lambda: session, command, encoding=None)
    except (asyncssh.ChannelOpenError, asyncssh.DisconnectError, OSError) as e:
        raise TransportError(Trouble.DISCONNECTED, f"the node does not run commands: {e}") from e
    try:
        if sudo:
            await sudo.open(session)
        _give(channel, stdin)
        await session.ended
    finally:
        channel.close()
        session.ended.cancel()  # nobody waits for it any more
    err = sudo.masked(session.said()) if sudo else session.said()
    if session.signal:
        err += f"\nended by signal {session.signal}".encode()
    return Exited(session.rc, b"".join(session.out), err)


def _give(channel: asyncssh.SSHClientChannel[bytes], stdin: bytes) -> None:
    try:
        channel.write(stdin)
        channel.write_eof()
    except OSError:  # it ended without reading everything; how is told by its exit status
        channel.write_eof()
