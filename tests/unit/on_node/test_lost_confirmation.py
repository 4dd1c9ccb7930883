"""The connection breaks when the end of a run was read and before the node knows that: the run has ended all the same."""

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
