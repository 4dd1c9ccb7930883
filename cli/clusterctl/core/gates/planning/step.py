"""The commands that nodes run for a gate, with all they need to meet each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.model.gate_reason import GateReason


# What is measured once more: the step of a node by itself, and the rounds of suspects with proven partners.
AGAIN = "again"
# What a gate reads of the hardware meanwhile.
TRACE = "trace"


class Side(StrEnum):
    """A server is started before its client and waits for it; a solo step has no counterpart.

    A member runs what the launcher of its group, its peer, starts on it.
    """

    SOLO = "solo"
    SERVER = "server"
    CLIENT = "client"
    MEMBER = "member"


class BurnInPart(StrEnum):
    """The parts of a burn-in: nodes and pairs first, then groups of the nodes that passed."""

    NODES = "nodes"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class GateStep:
    """One command on one node.

    Attributes:
        name: unique within gate and node: `solo`, `round2.rail3.turn1.client` ...
        batch: steps of one batch run at the same time; batches follow each other in the same order on all nodes. A step
            with a peer starts when the peer's agent has reached this batch too.
        port: the TCP port by which the two sides of a pair find each other; 0 for solo steps.
        peer_address: where the peer's agent and its server are.
        address: where others of its group reach this node; empty for steps without a group.
        peers: the nodes that one run measures together, on the step of its launcher.
        members: (node, address) of the others of `peers`, whose agents start the launcher's processes there.
        version_argv: a cheap command that prints the tool's version.
        exclusive: nobody else may compute on the node meanwhile.
        shares_with: programs that may all the same, with what they start.
        links_of: vendor and class, as a pattern, of the PCI devices whose links are sampled meanwhile; empty = none.
        trace_argv: a short command that is run every `trace_s` seconds meanwhile, and what it prints is kept; empty = none.
        trace_alone: (device, command): what is run once after the first `trace_argv` that took `trace_slow_s`, to see which device is slow.
        near: the RDMA device to whose NUMA node the command's CPUs are bound, and to whose socket its memory; empty = not bound.
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
    members: tuple[tuple[str, str], ...] = ()
    address: str = ""
    near: str = ""
    exclusive: bool = False
    shares_with: tuple[str, ...] = ()
    links_of: str = ""
    trace_argv: tuple[str, ...] = ()
    trace_s: float = 0.0
    trace_alone: tuple[tuple[str, tuple[str, ...]], ...] = ()
    trace_slow_s: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a command line that is none: a text would be taken apart into letters.

        Raises:
            ConfigError: it is not a tuple or list of texts, or empty.
        """
        argv: object = self.argv
        if not isinstance(argv, tuple | list) or not argv or not all(isinstance(word, str) for word in argv):
            raise ConfigError(
                detail=f"gate {self.gate}: argv of step {self.name!r} is {argv!r}, no tuple of texts",
                hint='return ("program", "--option", str(value))',
            )


@dataclass(frozen=True, slots=True)
class ServerPlace:
    """Where the server of a pair listens; `is_own`: this side is the server."""

    address: str
    port: int
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a gate cannot be measured on a node, and what to do about it."""

    reason: GateReason
    why: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Rendezvous:
    """How the agents of a run find each other.

    Attributes:
        control_port: where agents report to each other how far they are.
        peer_wait_s: how long an agent that never answered is waited for.
    """

    control_port: int = 18514
    peer_wait_s: int = 120


@dataclass(frozen=True, slots=True)
class GateSteps:
    """The steps of one gate.

    Attributes:
        steps: node -> its own steps, by batch.
        obstacles: node -> why it has none.
        rendezvous: where nodes of this gate meet; None where they do not.
        nvlink_groups: node -> addresses of all nodes whose GPUs its own are joined to over NVLink; processes there need IMEX and a channel of it.
    """

    steps: Mapping[str, tuple[GateStep, ...]]
    obstacles: Mapping[str, Obstacle] = field(default_factory=dict)
    rendezvous: Rendezvous | None = None
    nvlink_groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
