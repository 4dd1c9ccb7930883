"""Connections that break at the ends of a run: the first one is tried again, and a run whose end was read has ended."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from clusterctl.adapters.on_node.node_run import Ended, NodeRun
from clusterctl.adapters.ssh.remote_result import RemoteResult, TransportError, TransportFailure
from support.gates import node

if TYPE_CHECKING:
    from collections.abc import Callable

    from clusterctl.adapters.ansible.events import AnsibleEvent
    from clusterctl.adapters.ssh.ssh import SshClient
    from clusterctl.adapters.validators.bundle import Bundle

END = b'{"clusterctl_end": {"rc": 0, "why": "%s"}}\n'


class CutSession:
    """A connection that breaks after the node has sent `sent`."""

    def __init__(self, sent: bytes) -> None:
        self.sent = sent

    async def run(self, _argv: object, _stdin: bytes, _limit: int, on_data: Callable[[bytes], bytes]) -> RemoteResult:
        on_data(self.sent)
        raise TransportError(TransportFailure.DISCONNECTED, "connection lost while the command ran")

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize(("why", "ended"), [(b"", Ended.COMPLETED), (b"cancelled", Ended.STOPPED)])
def test_a_run_whose_end_was_read_is_not_followed_again(why: bytes, ended: Ended) -> None:
    sessions = [CutSession(b'{"event": "verbose"}\n' + END % why)]
    seen: list[AnsibleEvent] = []

    async def connect(*_: object) -> CutSession:
        return sessions.pop()

    bundle = SimpleNamespace(sha256="b" * 64, size=1, min_python=(3, 11), read=lambda: b"")
    run = NodeRun(node("n1"), cast("Bundle", bundle), {"token": "a" * 32, "timeout_s": 60}, seen.append, reconnect_s=5.0)
    assert asyncio.run(run.run(cast("SshClient", SimpleNamespace(connect=connect)), "")) is ended
    assert (len(seen), sessions) == (1, [])


class WholeSession(CutSession):
    """A connection over which the whole run is followed."""

    async def run(self, _argv: object, _stdin: bytes, _limit: int, on_data: Callable[[bytes], bytes]) -> RemoteResult:
        on_data(self.sent)
        return RemoteResult(0, b"", b"")


@pytest.mark.parametrize(
    ("failure", "ended"), [(TransportFailure.UNREACHABLE, Ended.COMPLETED), (TransportFailure.HOST_KEY_CHANGED, Ended.LOST)]
)
def test_a_node_that_cannot_be_reached_for_a_moment_gets_its_run(
    failure: TransportFailure, ended: Ended, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sshd restarts between the check and the roles, or between two parts of them."""
    monkeypatch.setattr("clusterctl.adapters.on_node.node_run._RECONNECT_PAUSE_S", 0.0)
    sessions = [WholeSession(END % b"")]
    errors = [TransportError(failure, "no connection within 15 s")]

    async def connect(*_: object) -> CutSession:
        if errors:
            raise errors.pop()
        return sessions.pop()

    bundle = SimpleNamespace(sha256="b" * 64, size=1, min_python=(3, 11), read=lambda: b"")
    run = NodeRun(node("n1"), cast("Bundle", bundle), {"token": "a" * 32, "timeout_s": 60}, lambda _event: None, reconnect_s=5.0)
    assert asyncio.run(run.run(cast("SshClient", SimpleNamespace(connect=connect)), "")) is ended
