"""One command that one node runs, with all it needs to meet its peer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Side(StrEnum):
    """A server is started before its client and waits for it; a solo step has no counterpart."""

    SOLO = "solo"
    SERVER = "server"
    CLIENT = "client"


@dataclass(frozen=True, slots=True)
class GateStep:
    """One command on one node.

    Attributes:
        name: unique within gate and node: `solo`, `round2.rail3.client` ...
        batch: steps of one batch run at the same time; batches follow each other in the same order on all nodes. A step
            with a peer starts when the peer's agent has reached this batch too.
        port: the TCP port by which the two sides of a pair find each other; 0 for solo steps.
        peer_address: where the peer's agent and its server are.
        version_argv: a cheap command that tells the tool's version.
    """

    gate: str
    name: str
    tool: str
    side: Side
    argv: tuple[str, ...]
    timeout_s: int
    batch: int
    round: int = 0
    device: str = ""
    peer: str = ""
    peer_device: str = ""
    peer_address: str = ""
    port: int = 0
    peers: tuple[str, ...] = ()
    version_argv: tuple[str, ...] = ()
