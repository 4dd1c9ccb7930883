"""`lab fault`: injects faults into a node of a running lab, or clears them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.model.errors import LabError
from clusterctl_lab import containers, faults
from clusterctl_lab.layout import lab_node
from clusterctl_lab.node_hardware import hardware_of

if TYPE_CHECKING:
    from clusterctl_lab.layout import LabPaths
    from clusterctl_lab.simulator.state import Fault

FAULT_FILE = "faults.json"
# The demo rack has one bad node: rail 3 of the fourth runs at half rate.
DEFAULT_NODE_SLOT = 4
DEFAULT_FAULT = "hca_degraded"


def active_faults(paths: LabPaths, node: str, boot_id: str = "") -> tuple[Fault, ...]:
    """The faults of a node in the boot `boot_id`, or in any boot if it is empty."""
    stored = faults.load_faults(paths.node_dir(node) / FAULT_FILE)
    return tuple(f for f in stored if f.boot_id in ("", boot_id or f.boot_id))


def inject_fault(paths: LabPaths, node: str, name: str, device: str = "", option: str = "") -> Fault:
    """Inject a fault into a running node; it takes effect immediately.

    Raises:
        UsageProblemError: unknown node, fault, device or option.
        LabError: the node is not running.
    """
    boot_id = _boot_id(paths, node)
    fault = faults.make_fault(name, device, option, boot_id, hardware_of(paths, node))
    _store(paths, node, faults.with_fault(active_faults(paths, node, boot_id), fault))
    return fault


def clear_faults(paths: LabPaths, node: str, name: str = "", device: str = "") -> tuple[Fault, ...]:
    """Clear the fault `name` (all faults if empty) on `device` (all devices if empty). Returns the cleared faults.

    Raises:
        UsageProblemError: unknown node, fault or device.
        LabError: the node is not running.
    """
    before = active_faults(paths, node, _boot_id(paths, node))
    meant = faults.make_fault(name, device, hardware=hardware_of(paths, node)).device if name else ""
    after = faults.without_fault(before, name, meant if device else "") if name else ()
    _store(paths, node, after)
    return tuple(f for f in before if f not in after)


def _store(paths: LabPaths, node: str, kept: tuple[Fault, ...]) -> None:
    faults.save_faults(paths.node_dir(node) / FAULT_FILE, kept)


def _boot_id(paths: LabPaths, node: str) -> str:
    lab_node(node)
    found = containers.boot_id(node) if node in containers.lab_containers(paths) else ""
    if not found:
        raise LabError(
            detail=f"{node} is not running in this lab",
            hint="`clusterctl lab status` lists the nodes; `clusterctl lab up` starts them",
        )
    return found
