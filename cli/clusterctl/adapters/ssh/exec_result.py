"""How a conversation with a node can end."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Trouble(StrEnum):
    """Why there is no exit status."""

    UNREACHABLE = "unreachable"
    AUTH_FAILED = "auth_failed"
    HOST_KEY_UNKNOWN = "host_key_unknown"
    HOST_KEY_CHANGED = "host_key_changed"
    TIMED_OUT = "timed_out"
    DISCONNECTED = "disconnected"
    TOO_MUCH_OUTPUT = "too_much_output"


class TransportError(Exception):
    """The conversation ended before the command did. Never leaves this part of the program: it becomes a NodeStatus."""

    def __init__(self, trouble: Trouble, detail: str) -> None:
        super().__init__(detail)
        self.trouble = trouble
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Exited:
    """A command that ran to its end.

    Attributes:
        rc: its exit status; None if a signal ended it.
    """

    rc: int | None
    stdout: bytes
    stderr: bytes
