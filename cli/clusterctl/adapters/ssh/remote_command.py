"""Runs one command over one connection, with bounded output and typed errors."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import asyncssh

from clusterctl.adapters.ssh.remote_result import RemoteResult, TransportError, TransportFailure

if TYPE_CHECKING:
    from collections.abc import Callable

    from clusterctl.adapters.ssh.sudo import Sudo

    OnData = Callable[[bytes], bytes]

_STDERR_LIMIT_BYTES = 64 * 1024
# Assumed: sshd no longer counts a session that has ended after 1.4 s.
_PAUSES_S = (0.0, 0.1, 0.3, 1.0)


class _Session(asyncssh.SSHClientSession[bytes]):
    """Collects the output of the command, or hands it on as it comes; callbacks cost less CPU than asyncssh's streams."""

    def __init__(self, limit_bytes: int, on_data: OnData | None = None) -> None:
        self._on_data = on_data
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.out: list[bytes] = []
        self.err: list[bytes] = []
        self.rc: int | None = None
        self.signal = ""
        self._stderr_changed = asyncio.Event()
        self._stdout_left_bytes = limit_bytes
        self._stderr_left_bytes = _STDERR_LIMIT_BYTES
        self._channel: asyncssh.SSHClientChannel[bytes] | None = None

    def connection_made(self, chan: asyncssh.SSHClientChannel[bytes]) -> None:
        self._channel = chan

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        if datatype == asyncssh.EXTENDED_DATA_STDERR:
            self.err.append(data[: max(0, self._stderr_left_bytes)])
            self._stderr_left_bytes -= len(data)
            self._stderr_changed.set()
            return
        if self.ended.done():
            return
        self._stdout_left_bytes -= len(data)
        if self._stdout_left_bytes < 0:
            self._give_up(TransportError(TransportFailure.TOO_MUCH_OUTPUT, "the output exceeds its size limit"))
        elif self._on_data is None:
            self.out.append(data)
        else:
            self._hand_on(data, self._on_data)

    def _hand_on(self, data: bytes, on_data: OnData) -> None:
        try:
            reply = on_data(data)
        except Exception as e:  # noqa: BLE001 raised again by `execute`; asyncssh would take it for a connection that broke
            self._give_up(e)
        else:
            if reply:
                self.write_stdin(reply)

    def _give_up(self, error: Exception) -> None:
        self.out.clear()
        self._end(error)
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
            self._end(TransportError(TransportFailure.DISCONNECTED, f"connection lost while the command ran: {reason}", may_pass=True))
        self._end(None)

    def stderr(self) -> bytes:
        """Stderr so far."""
        return b"".join(self.err)

    def discard_stderr(self, length: int) -> None:
        """Drop the first `length` bytes of stderr."""
        self.err = [self.stderr()[length:]]

    def write_stdin(self, data: bytes) -> None:
        """Write to stdin; ignored if the command has ended, because its exit status is the error then."""
        if self._channel and not self._channel.is_closing():
            self._channel.write(data)

    async def wait_for_stderr(self) -> bool:
        """Wait for more output on stderr; False if the command has ended.

        Raises:
            TransportError: DISCONNECTED or TOO_MUCH_OUTPUT.
        """
        if self.ended.done():
            self.ended.result()
            return False
        await self._stderr_changed.wait()
        self._stderr_changed.clear()
        return True

    def _end(self, error: Exception | None) -> None:
        if self.ended.done():
            return
        if error:
            self.ended.set_exception(error)
        else:
            self.ended.set_result(None)
        self._stderr_changed.set()


async def execute(
    connection: asyncssh.SSHClientConnection,
    command: str,
    stdin: bytes,
    limit_bytes: int,
    *,
    sudo: Sudo | None = None,
    on_data: OnData | None = None,
) -> RemoteResult:
    """Run `command` in the shell of the remote user and send it `stdin`, after the password prompt of `sudo` if there is one.

    With `on_data`, stdout is handed on as it comes and is not in the result, what it returns is written to stdin, and stdin stays open. An exception of it
    ends the command and is raised here.

    Raises:
        TransportError: DISCONNECTED, TOO_MUCH_OUTPUT (more than `limit_bytes` of stdout), or the error of `Sudo.authenticate`.
    """
    session = _Session(limit_bytes, on_data)
    channel = await _open_session(connection, session, command)
    try:
        if sudo:
            await sudo.authenticate(session)
        _send_stdin(channel, stdin, end=on_data is None)
        await session.ended
    finally:
        channel.close()
        session.ended.cancel()  # nothing waits for it any more
    err = sudo.masked(session.stderr()) if sudo else session.stderr()
    if session.signal:
        err += f"\nended by signal {session.signal}".encode()
    return RemoteResult(session.rc, b"".join(session.out), err)


async def _open_session(connection: asyncssh.SSHClientConnection, session: _Session, command: str) -> asyncssh.SSHClientChannel[bytes]:
    """Start the command; where sshd refuses that, once more a moment later: with MaxSessions 1 it still counts the command before this one."""
    refused: Exception | None = None
    for pause_s in _PAUSES_S:
        await asyncio.sleep(pause_s)
        try:
            channel, _ = await connection.create_session(lambda: session, command, encoding=None)
        except asyncssh.ChannelOpenError as e:
            refused = e
        except (asyncssh.DisconnectError, OSError) as e:
            raise TransportError(TransportFailure.DISCONNECTED, f"the node cannot run a command: {e}", may_pass=True) from e
        else:
            return channel
    why = f"the node cannot run a command: {refused} (MaxSessions of its sshd may be 0)"
    raise TransportError(TransportFailure.DISCONNECTED, why) from refused


def _send_stdin(channel: asyncssh.SSHClientChannel[bytes], stdin: bytes, *, end: bool) -> None:
    try:
        channel.write(stdin)
        if end:
            channel.write_eof()
    except OSError:  # the command ended without reading all of its input; its exit status is the result
        channel.write_eof()
