"""What IMEX daemons and nvidia-imex-ctl say to each other: a line of JSON asks, a line of JSON answers."""

from __future__ import annotations

import json
import socket
from dataclasses import asdict, dataclass, field
from enum import Enum

READY = "READY"
UNAVAILABLE = "UNAVAILABLE"
VERSION_MISMATCH = "VERSION_MISMATCH"
CONNECTED = "CONNECTED"
NEVER_CONNECTED = "NEVER_CONNECTED"
INVALID = "INVALID"
# A domain of 18 members is 40 KiB.
LINE_MAX = 1 << 20
_CONNECT_TIMEOUT_S = 1.0


class NoReplyError(Exception):
    """Nobody is there, or what is said is no answer."""


class RequestKind(Enum):
    """What is asked for: members answer the first two, the command port the first and the last."""

    STATE = "state"
    CONNECTIONS = "connections"
    DOMAIN = "domain"


# How long each answer may take: the next kind waits for some of the one before.
REPLY_TIMEOUT_S = {RequestKind.STATE: 5.0, RequestKind.CONNECTIONS: 10.0, RequestKind.DOMAIN: 20.0}


@dataclass(frozen=True)
class Request:
    """`version`: of the one that asks."""

    about: RequestKind
    version: str

    def to_json(self) -> str:
        """One line."""
        return json.dumps({"about": self.about.value, "version": self.version})

    @classmethod
    def from_json(cls, line: bytes) -> Request:
        """NoAnswerError if it is no question."""
        try:
            said = json.loads(line)
            return cls(RequestKind(said["about"]), str(said["version"]))
        except (ValueError, KeyError, TypeError) as e:
            raise NoReplyError(f"not a question: {line[:80]!r}") from e


@dataclass(frozen=True)
class MemberReport:
    """What a daemon says of itself; `connections`: address of a member -> state, empty if not asked for or refused."""

    version: str
    status: str
    connections: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: bytes) -> MemberReport:
        """NoAnswerError if it is no report."""
        try:
            said = json.loads(line)
            return cls(str(said["version"]), str(said["status"]), {str(k): str(v) for k, v in said["connections"].items()})
        except (ValueError, KeyError, TypeError, AttributeError) as e:
            raise NoReplyError(f"not a report: {line[:80]!r}") from e


@dataclass(frozen=True)
class Member:
    """One row of a domain; `connections`: to each member of the domain, in its order."""

    address: str
    status: str
    version: str
    connections: tuple[str, ...]


@dataclass(frozen=True)
class Domain:
    """`status`: UP, DEGRADED or DOWN."""

    status: str
    timestamp: str
    members: tuple[Member, ...]

    def to_json(self) -> str:
        """As `nvidia-imex-ctl -N -j` prints it."""
        return json.dumps(
            {"nodes": {str(i): self._node(m) for i, m in enumerate(self.members)}, "timestamp": self.timestamp, "status": self.status}
        )

    def _node(self, member: Member) -> dict[str, object]:
        hosts = [m.address for m in self.members]
        met = {str(i): {"host": h, "status": s, "changed": True} for i, (h, s) in enumerate(zip(hosts, member.connections, strict=True))}
        return {"status": member.status, "host": member.address, "version": member.version, "connections": met}

    @classmethod
    def from_json(cls, line: bytes) -> Domain:
        """NoAnswerError if it is no domain."""
        try:
            said = json.loads(line)
            rows = (
                Member(n["host"], n["status"], n["version"], tuple(c["status"] for c in n["connections"].values()))
                for n in said["nodes"].values()
            )
            return cls(said["status"], said["timestamp"], tuple(rows))
        except (ValueError, KeyError, TypeError, AttributeError) as e:
            raise NoReplyError(f"not a domain: {line[:80]!r}") from e


def send_request(address: str, port: int, question: Request) -> bytes:
    """The line that a daemon answers. NoAnswerError if none comes in time."""
    try:
        with socket.create_connection((address, port), timeout=_CONNECT_TIMEOUT_S) as connection:
            connection.settimeout(REPLY_TIMEOUT_S[question.about])
            connection.sendall(question.to_json().encode() + b"\n")
            with connection.makefile("rb") as answers:
                line = answers.readline(LINE_MAX)
    except OSError as e:
        raise NoReplyError(f"{address}:{port}: {e}") from e
    if not line.endswith(b"\n"):
        raise NoReplyError(f"{address}:{port}: no answer")
    return line
