"""`lab fault`: break a node of a running lab, or repair it."""

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
# The rack of the demo has one bad node: rail 3 of the fourth runs at half rate.
DEFAULT_NODE_SLOT = 4
DEFAULT_FAULT = "hca_degraded"


def active_faults(paths: LabPaths, node: str, boot_id: str = "") -> tuple[Fault, ...]:
    """The faults that a node has in the boot `boot_id` (of any boot, if it is empty)."""
    stored = faults.load_faults(paths.node_dir(node) / FAULT_FILE)
    return tuple(f for f in stored if f.boot_id in ("", boot_id or f.boot_id))


def inject_fault(paths: LabPaths, node: str, name: str, device: str = "", option: str = "") -> Fault:
    """Give a node a fault, at once.

    Raises:
        UsageProblemError: no such node, fault, device or option.
        LabError: the node does not run.
    """
    boot_id = _boot_id(paths, node)
    fault = faults.make_fault(name, device, option, boot_id, hardware_of(paths, node))
    _store(paths, node, faults.with_fault(active_faults(paths, node, boot_id), fault))
    return fault


def clear_faults(paths: LabPaths, node: str, name: str = "", device: str = "") -> tuple[Fault, ...]:
    """Take faults away: of one device, of a kind, or all. Returns what was taken.

    Raises:
        UsageProblemError: no such node.
        LabError: the node does not run.
    """
    before = active_faults(paths, node, _boot_id(paths, node))
    after = faults.without_fault(before, name, device) if name else ()
    _store(paths, node, after)
    return tuple(f for f in before if f not in after)


def _store(paths: LabPaths, node: str, kept: tuple[Fault, ...]) -> None:
    faults.save_faults(paths.node_dir(node) / FAULT_FILE, kept)


def _boot_id(paths: LabPaths, node: str) -> str:
    lab_node(node)
    found = containers.boot_id(node) if node in containers.lab_containers(paths) else ""
    if not found:
        raise LabError(
            detail=f"{node} does not run in this lab", hint="`clusterctl lab status` lists the nodes; `clusterctl lab up` starts them"
        )
    return found
