"""The messages of OpenSSH's client for failed connections, as Ansible passes them on."""

from __future__ import annotations

import re

from clusterctl.model.findings import NodeStatus

# sshconnect.c and sshconnect2.c of OpenSSH 9; `Permission denied (publickey,password).` lists the methods that are left. The first that occurs counts.
_STATUSES = {
    "host key is known for": NodeStatus.HOST_KEY_UNKNOWN,
    "Host key verification failed": NodeStatus.HOST_KEY_CHANGED,
    ": Permission denied (": NodeStatus.AUTH_FAILED,
}
_TEXTS = {
    NodeStatus.HOST_KEY_UNKNOWN: "known_hosts has no key of it",
    NodeStatus.HOST_KEY_CHANGED: "its host key differs from known_hosts: it was reinstalled, or another host answers",
    NodeStatus.AUTH_FAILED: "it refused the login",
}
# What Ansible puts before the client's words, and the client before the system's.
_BEFORE = re.compile(r".*?(?:over|via) ssh: (?:ssh: connect to host \S+ port \d+: )?", re.DOTALL)


def read_ssh_failure(message: str) -> tuple[NodeStatus, str]:
    """Why a node could not be reached: its status, and a short text where the message is known, else the words of the client."""
    status = next((status for text, status in _STATUSES.items() if text in message), NodeStatus.UNREACHABLE)
    before = _BEFORE.match(message)
    return status, _TEXTS.get(status, message[before.end() :].strip() or message if before else message)
