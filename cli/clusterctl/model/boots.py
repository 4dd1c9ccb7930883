"""Boots of nodes: which one a pool reports, and in which one a node was last verified."""

from __future__ import annotations

from dataclasses import dataclass

# What a run records of a node that its scheduler took out because it booted by itself: it was returned, or it did so too often.
RETURNED, KEPT_OUT = "returned", "kept_out"


@dataclass(frozen=True, slots=True)
class ReportedBoot:
    """The boot of a node that is up, as its pool or the node itself reports it.

    Attributes:
        boot_id: as its kernel names it; empty where only the time is reported.
        booted_at: when it began, by the clock of this machine (`clusterctl.adapters.clock`); empty where only the id is reported.
        is_member: whether jobs may start on the node now.
        taken_out: the scheduler took the node out because of this boot, and nobody else did.
    """

    boot_id: str = ""
    booted_at: str = ""
    is_member: bool = True
    taken_out: bool = False


@dataclass(frozen=True, slots=True)
class VerifiedBoot:
    """The newest validation of a node that returned findings, by a run that acts on them, while no other run held the node.

    Attributes:
        at: when the node answered.
        boot_id: the boot in which the checks ran, as its kernel names it; empty where the node did not report it, and before 0022.
        booted_at: when that boot began, by the clock of this machine: the uptime is the node's, no clock of it; empty as `boot_id` is.
    """

    node: str
    at: str
    boot_id: str = ""
    booted_at: str = ""
