"""The boot order and the override of a node, for one start or for all, as its BMC has them. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from clusterctl_lab.bmc.bios import BiosSettingError
from clusterctl_lab.simulator import boot_source

TARGETS = ("None", *boot_source.TARGETS)
_OFF, _ONCE, _ALWAYS = "Disabled", "Once", "Continuous"
ENABLED = (_OFF, _ONCE, _ALWAYS)


@dataclass(frozen=True, slots=True)
class BootSettings:
    """Times are in seconds since the epoch, 0 for never.

    Attributes:
        order: in force; `pending` (empty if nothing is) was written at `since` and is in force from the next start.
        target: of the last override, set at `target_since`; `used` from the start that it was for, unless it stays (`continuous`).
        start: the last start that was seen.
    """

    order: tuple[str, ...] = boot_source.DELIVERED
    pending: tuple[str, ...] = ()
    since: float = 0
    target: str = ""
    target_since: float = 0
    used: bool = False
    continuous: bool = False
    start: float = 0

    @property
    def override(self) -> str:
        """The target of the next start; empty if none is set."""
        return "" if self.used else self.target

    @property
    def enabled(self) -> str:
        """For which starts it is, as Redfish names it."""
        return _OFF if not self.override else _ALWAYS if self.continuous else _ONCE

    def with_order(self, order: list[str], now: float) -> BootSettings:
        """Write an order for the next start.

        Raises:
            BiosSettingError: it does not list each boot option once.
        """
        if sorted(order) != sorted(boot_source.OPTIONS):
            raise BiosSettingError(f"BootOrder must list each of {', '.join(sorted(boot_source.OPTIONS))} once.")
        return replace(self, pending=tuple(order), since=now)

    def with_override(self, target: str, enabled: str, now: float) -> BootSettings:
        """Set or clear the override of the next start, or of all.

        Raises:
            BiosSettingError: one of the two is unknown.
        """
        if target not in TARGETS or enabled not in ENABLED:
            raise BiosSettingError(
                f"The value {target} ({enabled}) for the property BootSourceOverrideTarget is not in the list of acceptable values."
            )
        if enabled == _OFF or target == "None":
            return replace(self, target="", target_since=0, used=False, continuous=False)
        return replace(self, target=target, target_since=now, used=False, continuous=enabled == _ALWAYS)

    def source(self, started_at: float) -> str:
        """The kind of device from which a start at that time boots."""
        if self.override and self.target_since < started_at:
            return boot_source.TARGETS[self.override]
        return boot_source.first_kind(self.pending if self.pending and self.since < started_at else self.order)

    def after_start(self, started_at: float) -> BootSettings:
        """The settings after a start: what was written before it is in force, an override for one start is used up."""
        boot = replace(self, start=started_at)
        if boot.pending and boot.since < started_at:
            boot = replace(boot, order=boot.pending, pending=(), since=0)
        return replace(boot, used=boot.used or (bool(boot.target) and not boot.continuous and boot.target_since < started_at))
