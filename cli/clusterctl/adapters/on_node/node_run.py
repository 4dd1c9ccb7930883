"""One run on one node: started over SSH, followed from the last event on where the connection breaks."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.on_node.sent_line import RunEnd, SpoiledLineError, read_line
from clusterctl.adapters.ssh.remote_result import RemoteResult, TransportError, TransportFailure
from clusterctl.adapters.validators import request as bundle_request
from clusterctl.adapters.validators.answer import bundle_is_absent, from_the_program
from clusterctl_on_node.content import EXIT_FORBIDDEN
from clusterctl_on_node.entry import EXIT_DISK, EXIT_NO_SERVICE
from clusterctl_on_node.follower import EXIT_GONE
from clusterctl_on_node.run_folder import EXIT_NO_MEMORY_FOLDER
from clusterctl_validators import launcher

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clusterctl.adapters.ansible.events import AnsibleEvent
    from clusterctl.adapters.ssh.ssh import SshClient, SshSession
    from clusterctl.adapters.validators.bundle import Bundle
    from clusterctl.model.node import Node

LIMIT_BYTES = 512 * 1024 * 1024
# Assumed: a failed task's file in full, with its lines once more, is shorter; what is longer is not an event.
_LONGEST_LINE_BYTES = 16 * 1024 * 1024
_OUR_LINES = (b'{"event": ', b'{"clusterctl_end": ')
# Assumed: no login script prints more before a command runs.
_LONGEST_GREETING_BYTES = 64 * 1024
_RECONNECT_PAUSE_S = 2.0
_READ = b"read\n"
_ENTRY = "clusterctl_on_node.entry"
_UNSUITED = frozenset(
    {
        *(launcher.EXIT_TOO_OLD, launcher.EXIT_NO_PLACE, EXIT_NO_MEMORY_FOLDER, EXIT_NO_SERVICE, EXIT_FORBIDDEN),
        *(126, 127),  # not executable, not found
    }
)
_FINAL = frozenset(
    {
        TransportFailure.AUTH_FAILED,
        TransportFailure.HOST_KEY_CHANGED,
        TransportFailure.HOST_KEY_UNKNOWN,
        TransportFailure.TOO_MUCH_OUTPUT,
    }
)


class Ended(StrEnum):
    """How a run on a node ended, as seen by the controller."""

    COMPLETED = "completed"
    STOPPED = "stopped"
    UNSUITED = "unsuited"
    LOST = "lost"


@dataclass(slots=True)
class NodeRun:
    """One run on one node.

    Attributes:
        requested: the request for the run, in the form of `clusterctl_on_node.entry`.
        on_event: called with each event of ansible-runner, which is of this node.
        reconnect_s: how long a node is tried again that cannot be reached, also for the first connection: it answered earlier in the run.
        detail: why it ended, where it did not complete.
    """

    node: Node
    bundle: Bundle
    requested: Mapping[str, Any]
    on_event: Callable[[AnsibleEvent], None]
    reconnect_s: float
    detail: str = ""
    end: RunEnd | None = None
    sent: bool = False
    _offset: int = 0
    _rest: bytearray = field(default_factory=bytearray, repr=False)
    _greeting_bytes: int | None = 0

    async def run(self, client: SshClient, become_password: str) -> Ended:
        """Start it and follow it to its end, for no longer than it may take on the node and be lost: a node need not keep to its limit."""
        limit_s = self.requested["timeout_s"] + self.reconnect_s
        try:
            async with asyncio.timeout(limit_s):
                return await self._run(client, become_password)
        except TimeoutError:
            self.detail = f"it sent no end of the run within {limit_s:g} s"
        except SpoiledLineError as e:
            self.detail = str(e)
        return Ended.LOST

    async def _run(self, client: SshClient, become_password: str) -> Ended:
        lost_since: float | None = None
        while True:
            try:
                remote = await client.connect(self.node.connection, become_password)
                lost_since = None
                try:
                    exited = await self._follow(remote)
                finally:
                    remote.close()
                return self._ended(exited)
            except TransportError as e:
                if (
                    self.end is not None
                ):  # all that is lost is the confirmation, and a node that has nothing left to send would be followed for ever
                    return self._ended(RemoteResult(None, b"", b""))
                self.detail = e.detail
                now = time.monotonic()
                lost_since = lost_since or now
                if e.failure in _FINAL or now - lost_since > self.reconnect_s:
                    return Ended.LOST
                await asyncio.sleep(_RECONNECT_PAUSE_S)

    async def stop(self, client: SshClient, become_password: str) -> None:
        """End it on the node; its followers receive the end."""
        remote = await client.connect(self.node.connection, become_password)
        try:
            await self._execute(remote, "run", {"action": "stop", "token": self.requested["token"]}, lambda _data: b"")
        finally:
            remote.close()

    async def _follow(self, remote: SshSession) -> RemoteResult:
        if self.sent:
            self._expect_greeting()
            return await self._execute(
                remote, "run", {"action": "follow", "token": self.requested["token"], "offset": self._offset}, self._read
            )
        exited = await self._start(remote, "run")
        return await self._start(remote, "push") if bundle_is_absent(exited) else exited

    async def _start(self, remote: SshSession, mode: str) -> RemoteResult:
        self.sent = True
        self._expect_greeting()
        exited = await self._execute(remote, mode, {"action": "start", **self.requested}, self._read)
        self.sent = not bundle_is_absent(exited)
        return exited

    async def _execute(
        self, remote: SshSession, mode: str, requested: Mapping[str, Any], on_data: Callable[[bytes], bytes]
    ) -> RemoteResult:
        parts = [
            bundle_request.launcher_source(),
            *([self.bundle.read()] if mode == "push" else []),
            json.dumps(requested).encode() + b"\n",
        ]
        command = bundle_request.bundle_command(mode, self.bundle, self.node.connection.python, _ENTRY)
        return await remote.run(command, b"".join(parts), LIMIT_BYTES, on_data)

    def _expect_greeting(self) -> None:
        """A command begins: what login scripts print comes before its first line."""
        self._rest.clear()
        self._greeting_bytes = 0

    def _is_greeting(self, line: bytes) -> bool:
        """Whether the line comes before the first one of the run; no login script prints an event."""
        if self._greeting_bytes is None or line.startswith(_OUR_LINES):
            self._greeting_bytes = None
            return False
        self._greeting_bytes += len(line) + 1
        if self._greeting_bytes > _LONGEST_GREETING_BYTES:
            raise SpoiledLineError("it sent a line that is not an event of a run: a login script that prints without end?")
        return True

    def _read(self, data: bytes) -> bytes:
        """Take whole lines; the answer to the last one is its confirmation."""
        *ends, begun = data.split(b"\n")
        for end in ends:
            line = bytes(self._rest + end)
            self._rest.clear()
            if not line or self._is_greeting(line):
                continue  # a sign of life, or the output of a login script: neither is in the file of events
            self._offset += len(line) + 1
            found = read_line(line, self.node.name)
            if isinstance(found, RunEnd):
                self.end = found
                return _READ
            self.on_event(found)
        self._rest += begun
        if len(self._rest) > _LONGEST_LINE_BYTES or self._offset > LIMIT_BYTES:
            raise SpoiledLineError("it sent more than the events of a run")
        return b""

    def _ended(self, exited: RemoteResult) -> Ended:
        if self.end is not None:
            self.detail = self.end.why
            return Ended.STOPPED if self.detail else Ended.COMPLETED
        text = from_the_program(exited.stderr).decode(errors="replace").strip()
        self.detail = text.removeprefix("clusterctl: ")[-500:] or f"exit status {exited.rc}"
        if exited.rc in _UNSUITED:
            return Ended.UNSUITED
        if exited.rc == EXIT_DISK:
            return Ended.STOPPED
        if exited.rc == EXIT_GONE:
            self.detail = "the run on the node is gone: it was rebooted, its memory ran out, or nobody followed the run for too long"
        return Ended.LOST
