"""A node that answers and breaks off, as while its sshd restarts: validation tries it again."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import asyncssh
import pytest

from clusterctl.adapters.validators import ValidationSettings, validate
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.node import Connection, Node, NodeSpec, Place
from support.fake_answers import FakeNode
from support.ssh_node import SshNode

if TYPE_CHECKING:
    from pathlib import Path

    from support.ssh_node import Process

pytestmark = pytest.mark.usefixtures("home")


class BreaksOff:
    """Breaks so many connections off; then answers."""

    def __init__(self, times: int) -> None:
        self.times, self.fake = times, FakeNode()

    async def __call__(self, process: Process) -> None:
        self.times -= 1
        if self.times < 0:
            await self.fake(process)
        else:
            process.channel.get_connection().abort()


def validated(connection: Connection, state_dir: Path, *pauses_s: float) -> NodeFindings:
    node = Node("n1", (), connection, Place(), NodeSpec({"example": {}}, {}, (), "digest"))
    (found,) = validate([node], state_dir, settings=ValidationSettings(pauses_s=pauses_s))
    return found


@pytest.mark.parametrize(("times", "status"), [(1, NodeStatus.OK), (2, NodeStatus.OK), (3, NodeStatus.UNREACHABLE)])
def test_a_connection_that_is_lost_once_does_not_make_a_node_unreachable(
    tmp_path: Path, state_dir: Path, times: int, status: NodeStatus
) -> None:
    with SshNode(tmp_path / "node", BreaksOff(times)) as server:
        assert validated(server.connection(), state_dir, 0.01, 0.01).status is status


def test_a_node_whose_sshd_starts_again_is_waited_for(tmp_path: Path, state_dir: Path) -> None:
    with SshNode(tmp_path / "node", FakeNode()) as stopped:
        connection = stopped.connection()
    again = SshNode(tmp_path / "node", FakeNode(), stopped.host_key, stopped.user_key, port=stopped.port)
    starting = threading.Timer(0.5, again.__enter__)
    starting.start()
    try:
        assert validated(connection, state_dir, 0.1, 2.0).status is NodeStatus.OK
    finally:
        starting.join()
        again.__exit__(None, None, None)


@pytest.mark.parametrize("refusal", ["host key", "login"])
def test_what_does_not_pass_is_tried_once(tmp_path: Path, state_dir: Path, refusal: str) -> None:
    with SshNode(tmp_path / "node", FakeNode()) as server:
        if refusal == "host key":
            server.write_known_hosts(asyncssh.generate_private_key("ssh-ed25519"))
        else:
            server.user_key = asyncssh.generate_private_key("ssh-ed25519")
        found = validated(server.connection(), state_dir, 0.01)
        assert found.status is {"host key": NodeStatus.HOST_KEY_CHANGED, "login": NodeStatus.AUTH_FAILED}[refusal]
        assert server.connections == 1
