"""Switching nodes on and off by their BMC: the request, the answer of the BMC, the result."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from clusterctl.model.exit_codes import ExitCode


class PowerAction(StrEnum):
    """What `clusterctl power` does."""

    ON = "on"
    OFF = "off"
    CYCLE = "cycle"
    AC_CYCLE = "ac-cycle"
    REBOOT = "reboot"


class PowerOutcome(StrEnum):
    """How it ended for a node. NOT_TRIED: the reboot budget of its rack was used up."""

    DONE = "done"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    NOT_TRIED = "not_tried"


EXIT_CODES = {
    PowerOutcome.DONE: ExitCode.OK,
    PowerOutcome.UNCHANGED: ExitCode.OK,
    PowerOutcome.FAILED: ExitCode.UNREACHABLE,
    PowerOutcome.NOT_TRIED: ExitCode.CHANGES_PENDING,
}


@dataclass(frozen=True, slots=True)
class PowerView:
    """The power state of a host, as its BMC reports it.

    Attributes:
        power: `on`, `off` or `unknown`; on the way to a state it still counts as the other.
        serial: of the system; empty if the BMC has none.
        resets: the reset types of Redfish that it offers; empty if it does not report them.
    """

    power: str
    serial: str = ""
    resets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Boot:
    """One boot of a node: the kernel's boot id, and how long it has been up, in seconds."""

    boot_id: str
    uptime_s: float


@dataclass(frozen=True, slots=True)
class PowerReport:
    """A node afterwards.

    Attributes:
        power: `on`, `off` or `unknown` (its BMC did not answer).
        boot: None if SSH did not answer.
        down: it was taken down and did not come back: it counts against the reboot budget.
    """

    node: str
    outcome: PowerOutcome
    power: str = "unknown"
    serial: str = ""
    boot: Boot | None = None
    detail: str = ""
    down: bool = False
