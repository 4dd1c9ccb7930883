"""What a bad result is about, and what to do first, as codes: tickets and automation read these, people read the hint."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Component(StrEnum):
    """What is at fault, as far as a result states it."""

    GPU = "gpu"
    NVLINK = "nvlink"
    NVSWITCH = "nvswitch"
    FABRIC = "fabric"
    IMEX = "imex"
    FABRIC_MANAGER = "fabric_manager"
    PCIE_LINK = "pcie_link"
    ADAPTER = "adapter"
    SWITCH = "switch"
    MEMORY = "memory"
    PROCESSOR = "processor"
    DISK = "disk"
    FILE_SYSTEM = "file_system"
    POWER = "power"
    COOLING = "cooling"
    NODE = "node"
    CONFIGURATION = "configuration"


class NextAction(StrEnum):
    """What to do first. What follows if it does not help is in the hint."""

    RESTORE_ACCESS = "restore_access"
    PROVISION = "provision"
    CHANGE_AT_OWNER = "change_at_owner"
    REBOOT_NODE = "reboot_node"
    RESET_GPU = "reset_gpu"
    RESEAT = "reseat"
    REPLACE = "replace"
    FIELD_DIAGNOSTIC = "field_diagnostic"
    CONTACT_VENDOR = "contact_vendor"
    CHECK_CABLE = "check_cable"
    CHECK_SWITCH = "check_switch"
    CHECK_FABRIC = "check_fabric"
    CHECK_POWER = "check_power"
    CHECK_COOLING = "check_cooling"
    CHECK_SETTINGS = "check_settings"
    CHECK_FILE_SYSTEM = "check_file_system"
    READ_EVENT_LOG = "read_event_log"
    END_PROGRAMS = "end_programs"
    MEASURE_AGAIN = "measure_again"
    WATCH = "watch"


@dataclass(frozen=True, slots=True)
class Repair:
    """Of one bad result.

    Attributes:
        component: what it is about; None where the result does not state it.
        component_name: which one, where it is not a part of the node, such as `leaf-3, rail 2` of a switch; empty otherwise.
        next_action: what to do first; None where only the hint states it.
    """

    component: Component | None = None
    next_action: NextAction | None = None
    component_name: str = ""

    def to_json(self) -> dict[str, str]:
        """As every document shows it: empty where it is not stated."""
        return {"component": self.component or "", "component_name": self.component_name, "next_action": self.next_action or ""}

    def or_else(self, other: Repair) -> Repair:
        """With what the other states where this one does not."""
        name = self.component_name or ("" if self.component else other.component_name)
        return Repair(self.component or other.component, self.next_action or other.next_action, name)

    @classmethod
    def of(cls, component: str, component_name: str, next_action: str) -> Repair:
        """The reverse of `to_json`."""
        return cls(Component(component) if component else None, NextAction(next_action) if next_action else None, component_name)


NO_REPAIR = Repair()
# What the codes of vendors' errors begin with, before their numbers.
XID, SXID, DCGM = "xid.", "sxid.", "dcgm."
