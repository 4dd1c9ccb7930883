"""Ansible 2.19 with OpenSSH 9.2, as seen on lab nodes: it joins the lines of the client, and cuts the middle."""

from __future__ import annotations

import pytest

from clusterctl.core.parsers.ssh_messages import read_ssh_failure
from clusterctl.model.findings import NodeStatus

PREFIX = 'Task failed: Data could not be sent to remote host "10.89.97.12". Make sure this host can be reached over ssh: '
CHANGED = (
    f"{PREFIX}@@@@@@@@@@@@@@@ ... is SHA256:yvHN2AxbfbL2. Please contact your system administrator. Add correct host key in known_hosts to get rid of "
    "this message. Offending ED25519 key in known_hosts:2 Host key for 10.89.97.12 has changed and you have requested strict checking. "
    "Host key verification failed."
)
UNKNOWN = f"{PREFIX}No ED25519 host key is known for 10.89.97.12 and you have requested strict checking.\r\nHost key verification failed."
REFUSED = f"{PREFIX}ssh: connect to host 10.89.97.12 port 22: Connection refused"
DENIED = "Task failed: Failed to connect to the host via ssh: root@10.89.97.12: Permission denied (publickey,password)."


@pytest.mark.parametrize(
    ("message", "status", "text"),
    [
        (CHANGED, NodeStatus.HOST_KEY_CHANGED, "its host key differs from known_hosts"),
        (UNKNOWN, NodeStatus.HOST_KEY_UNKNOWN, "known_hosts has no key of it"),
        (DENIED, NodeStatus.AUTH_FAILED, "it refused the login"),
        (REFUSED, NodeStatus.UNREACHABLE, "Connection refused"),
        (f"{PREFIX}ssh: connect to host 192.0.2.11 port 22: No route to host", NodeStatus.UNREACHABLE, "No route to host"),
        (
            f"{PREFIX}kex_exchange_identification: Connection closed by remote host",
            NodeStatus.UNREACHABLE,
            "kex_exchange_identification: Connection closed",
        ),
        (
            "Task failed: Failed to connect to the host via ssh: ",
            NodeStatus.UNREACHABLE,
            "Task failed: Failed to connect to the host via ssh: ",
        ),
        ("cat: /etc/x: Permission denied", NodeStatus.UNREACHABLE, "cat: /etc/x: Permission denied"),
        ("", NodeStatus.UNREACHABLE, ""),
    ],
)
def test_why_a_node_was_not_reached(message: str, status: NodeStatus, text: str) -> None:
    found = read_ssh_failure(message)
    assert found[0] is status
    assert found[1].startswith(text)
