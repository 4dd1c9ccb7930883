"""An event in the format of CloudEvents 1.0, and what became of its delivery."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class CloudEvent:
    """What happened once. `source` and `id` together are unique, so that a receiver can leave out an event that comes twice.

    Attributes:
        type: `clusterctl.node.<state>`, `clusterctl.run.ended`, `clusterctl.breaker.<tripped or reset>`,
            `clusterctl.maintenance.<planned, moved or cancelled>`.
        subject: the node, the run or the notice; empty where there is none.
        time: RFC 3339, UTC.
    """

    id: str
    source: str
    type: str
    subject: str
    time: str
    data: Mapping[str, Any]

    def document(self) -> dict[str, Any]:
        """In JSON (CloudEvents 1.0.2, JSON event format, structured mode)."""
        about = {"specversion": "1.0", "id": self.id, "source": self.source, "type": self.type}
        subject = {"subject": self.subject} if self.subject else {}
        return {**about, **subject, "time": self.time, "datacontenttype": "application/json", "data": dict(self.data)}


@dataclass(frozen=True, slots=True)
class NotTaken:
    """Why an attempt failed. `final`: another attempt cannot succeed."""

    problem: str
    final: bool = False


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that a receiver did not get. `event` is its document."""

    receiver: str
    problem: str
    attempts: int
    at: str
    event: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Delivered:
    """What one pass did.

    Attributes:
        sent: deliveries that a receiver took.
        dead: deliveries of this pass that failed.
        kept: all dead letters that wait.
        first: nothing was sent, because events count from now on.
    """

    sent: int = 0
    dead: int = 0
    kept: int = 0
    first: bool = False
