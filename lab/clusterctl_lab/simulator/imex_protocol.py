"""The protocol between IMEX daemons and nvidia-imex-ctl: one line of JSON as request, one as reply."""

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
    """The peer did not reply, or sent an invalid message."""


class RequestKind(Enum):
    """The requested information. Members serve STATE and CONNECTIONS, the command port STATE and DOMAIN."""

    STATE = "state"
    CONNECTIONS = "connections"
    DOMAIN = "domain"


# Time limits of replies: answering DOMAIN includes CONNECTIONS requests, which include STATE requests.
REPLY_TIMEOUT_S = {RequestKind.STATE: 5.0, RequestKind.CONNECTIONS: 10.0, RequestKind.DOMAIN: 20.0}


@dataclass(frozen=True)
class Request:
    """A request; `version` is that of the sender."""

    about: RequestKind
    version: str

    def to_json(self) -> str:
        """One line."""
        return json.dumps({"about": self.about.value, "version": self.version})

    @classmethod
    def from_json(cls, line: bytes) -> Request:
        """Parse a line.

        Raises:
            NoReplyError: it is not a request.
        """
        try:
            message = json.loads(line)
            return cls(RequestKind(message["about"]), str(message["version"]))
        except (ValueError, KeyError, TypeError) as e:
            raise NoReplyError(f"not a request: {line[:80]!r}") from e


@dataclass(frozen=True)
class MemberReport:
    """The state of one daemon; `connections`: address of a member -> state, empty unless requested."""

    version: str
    status: str
    connections: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: bytes) -> MemberReport:
        """Parse a line.

        Raises:
            NoReplyError: it is not a report.
        """
        try:
            message = json.loads(line)
            return cls(str(message["version"]), str(message["status"]), {str(k): str(v) for k, v in message["connections"].items()})
        except (ValueError, KeyError, TypeError, AttributeError) as e:
            raise NoReplyError(f"not a report: {line[:80]!r}") from e


@dataclass(frozen=True)
class Member:
    """One member of a domain; `connections`: its connection state to each member, in the domain's order."""

    address: str
    status: str
    version: str
    connections: tuple[str, ...]


@dataclass(frozen=True)
class Domain:
    """All members of a domain; `status`: UP, DEGRADED or DOWN."""

    status: str
    timestamp: str
    members: tuple[Member, ...]

    def to_json(self) -> str:
        """The output of `nvidia-imex-ctl -N -j`."""
        return json.dumps(
            {"nodes": {str(i): self._node(m) for i, m in enumerate(self.members)}, "timestamp": self.timestamp, "status": self.status}
        )

    def _node(self, member: Member) -> dict[str, object]:
        hosts = [m.address for m in self.members]
        connections = {
            str(i): {"host": h, "status": s, "changed": True} for i, (h, s) in enumerate(zip(hosts, member.connections, strict=True))
        }
        return {"status": member.status, "host": member.address, "version": member.version, "connections": connections}

    @classmethod
    def from_json(cls, line: bytes) -> Domain:
        """Parse a line.

        Raises:
            NoReplyError: it is not a domain.
        """
        try:
            message = json.loads(line)
            rows = (
                Member(n["host"], n["status"], n["version"], tuple(c["status"] for c in n["connections"].values()))
                for n in message["nodes"].values()
            )
            return cls(message["status"], message["timestamp"], tuple(rows))
        except (ValueError, KeyError, TypeError, AttributeError) as e:
            raise NoReplyError(f"not a domain: {line[:80]!r}") from e


def send_request(address: str, port: int, request: Request) -> bytes:
    """The reply of a daemon, one line.

    Raises:
        NoReplyError: no reply came in time.
    """
    try:
        with socket.create_connection((address, port), timeout=_CONNECT_TIMEOUT_S) as connection:
            connection.settimeout(REPLY_TIMEOUT_S[request.about])
            connection.sendall(request.to_json().encode() + b"\n")
            with connection.makefile("rb") as replies:
                line = replies.readline(LINE_MAX)
    except OSError as e:
        raise NoReplyError(f"{address}:{port}: {e}") from e
    if not line.endswith(b"\n"):
        raise NoReplyError(f"{address}:{port}: no answer")
    return line
