"""The hardware that each lab node simulates: a name in the node's folder, which the node reads at boot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.model.errors import UsageProblemError
from clusterctl_lab.layout import DECLARED_RACK
from clusterctl_lab.simulator.hardware_kinds import HGX_H100, KINDS

if TYPE_CHECKING:
    from clusterctl_lab.layout import LabNode, LabPaths, LabRack
    from clusterctl_lab.simulator.hardware import Hardware

HARDWARE_FILE = "hardware"
REAL_TIME_FILE = "real-time"
NAMES = tuple(KINDS)
DEFAULT = HGX_H100.name


def hardware_of(paths: LabPaths, node: str) -> Hardware:
    """The hardware that a node of this lab simulates; the default if none was set."""
    file = paths.node_dir(node) / HARDWARE_FILE
    return KINDS[file.read_text(encoding="ascii").strip() if file.exists() else DEFAULT]


def set_hardware(paths: LabPaths, node: LabNode, name: str) -> None:
    """Set the hardware that a new node simulates."""
    (paths.node_dir(node.name) / HARDWARE_FILE).write_text(f"{name}\n", encoding="ascii")


def set_real_time(paths: LabPaths, node: LabNode, factor: float) -> None:
    """Let the tools of a new node take as long as real ones, times `factor`; 0: they answer at once."""
    file = paths.node_dir(node.name) / REAL_TIME_FILE
    if factor:
        file.write_text(f"{factor}\n", encoding="ascii")
    else:
        file.unlink(missing_ok=True)


def require_same_hardware(paths: LabPaths, rack: LabRack, existing: list[str], name: str) -> None:
    """Check that the existing and the declared nodes of a rack simulate the hardware `name`.

    Raises:
        UsageProblemError: one of them simulates other hardware.
    """
    if rack.number == DECLARED_RACK and name != DEFAULT:
        target = rack.group.replace("_", "-")
        raise UsageProblemError(
            detail=f"the lab's inventory declares the nodes of {target} as {DEFAULT}, not {name}",
            hint=f"use another rack: `clusterctl lab up rack-{DECLARED_RACK + 1} --hardware {name}`",
        )
    others = [n.name for n in rack.nodes if n.name in existing and hardware_of(paths, n.name).name != name]
    if others:
        target, kind = rack.group.replace("_", "-"), hardware_of(paths, others[0]).name
        raise UsageProblemError(
            detail=f"{others[0]} simulates {kind}, not {name}",
            hint=f"use `clusterctl lab up {target} --hardware {kind}`, or run `clusterctl lab down {target}` first",
        )
