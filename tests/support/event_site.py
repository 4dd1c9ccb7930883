"""A site with its record and receivers of events, for tests of what is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterctl.adapters.config import read_config
from clusterctl.adapters.event_spool import EventSpool
from clusterctl.model.state import State
from clusterctl.model.verdict import ReasonKind
from clusterctl.workflows.send_events import send_events
from support.stores import a_node, fresh

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.store import Store
    from clusterctl.model.cloud_event import DeadLetter, Delivered

NODE = "r12-n01"


class EventSite:
    """A site with its record, in the working directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store: Store = fresh(folder / "state")
        self.store.register([a_node()])
        self.pauses_s: list[float] = []

    def declare(self, *receivers: str, source: str = "urn:x:site") -> None:
        lines = "".join(f"    - {r}\n" for r in receivers)
        (self.folder / "clusterctl.yml").write_text(f"state_dir: state\nevents:\n  source: {source}\n  receivers:\n{lines}")

    def send(self, *, replay: bool = False) -> Delivered:
        return send_events(read_config(start=self.folder), replay=replay, sleep=self.pauses_s.append)

    def quarantine(self, reason: str = "gate_failed") -> None:
        """Two transitions."""
        self.store.transition(NODE, State.PROVISIONING, run_id="", operator="alice")
        self.store.transition(
            NODE, State.QUARANTINED, run_id="", operator="alice", reason=reason, cause=ReasonKind.GATE_FAILED, reason_code="gate.rdma_pair"
        )

    @property
    def letters(self) -> tuple[DeadLetter, ...]:
        return EventSpool(self.folder / "state" / "events").letters()


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [e["type"] for e in events]
