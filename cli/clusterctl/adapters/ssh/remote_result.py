"""Results of a remote command: an exit status, or a transport error."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

# How long a node is tried again that answered earlier in the same run. Assumed: what restarts (its sshd, its network, a switch) answers within five minutes.
RECONNECT_S = 300.0


class TransportFailure(StrEnum):
    """Why a remote command has no exit status."""

    UNREACHABLE = "unreachable"
    AUTH_FAILED = "auth_failed"
    HOST_KEY_UNKNOWN = "host_key_unknown"
    HOST_KEY_CHANGED = "host_key_changed"
    TIMED_OUT = "timed_out"
    DISCONNECTED = "disconnected"
    TOO_MUCH_OUTPUT = "too_much_output"


class TransportError(Exception):
    """The connection failed before the command ended. Callers convert it to a NodeStatus.

    Attributes:
        failure: the kind of failure.
        detail: the message.
        may_pass: whether the host answered, so that another attempt soon may succeed: its sshd or its network restarts, or too many log in at once.
    """

    def __init__(self, failure: TransportFailure, detail: str, *, may_pass: bool = False) -> None:
        super().__init__(detail)
        self.failure = failure
        self.detail = detail
        self.may_pass = may_pass


@dataclass(frozen=True, slots=True)
class RemoteResult:
    """The result of a command that ended.

    Attributes:
        rc: the exit status; None if a signal ended the command.
    """

    rc: int | None
    stdout: bytes
    stderr: bytes
