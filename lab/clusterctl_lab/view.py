"""Prints the nodes of a lab and the catalogue of faults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.terminal import out
from clusterctl_lab.view_documents import LabFault, LabNode, LabStatusDocument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl_lab.faults import FaultKind
    from clusterctl_lab.rack import NodeStatus
    from clusterctl_lab.simulator.state import Fault


def fault_text(fault: Fault) -> str:
    """`hca_degraded mlx5_3 0.5`."""
    return " ".join(word for word in (fault.name, fault.device, fault.option) if word)


def show_status(nodes: Sequence[NodeStatus], output: str) -> None:
    """Print the nodes of a lab."""
    if output != "table":
        out.emit_document(output, "lab-status", LabStatusDocument(simulated=True, nodes=tuple(map(_node, nodes))))
        return
    rows = [
        (
            n.name,
            "running" if n.running else "stopped",
            n.hardware,
            n.address,
            n.bmc_url if n.bmc else "down",
            ", ".join(map(fault_text, n.faults)) or "-",
        )
        for n in nodes
    ]
    out.table(("NODE", "STATE", "HARDWARE", "ADDRESS", "BMC", "FAULTS"), rows)


def show_fault_catalogue(kinds: Sequence[FaultKind]) -> None:
    """Print the faults that can be injected."""
    rows = [(k.name, k.default_device or "-", f"{k.option}={k.default_option}" if k.option else "-", k.lasts, k.summary) for k in kinds]
    out.table(("FAULT", "DEVICE", "OPTION", "LASTS", "EFFECT"), rows)


def _node(node: NodeStatus) -> LabNode:
    return LabNode(
        name=node.name,
        rack=node.rack,
        address=node.address,
        state="running" if node.running else "stopped",
        hardware=node.hardware,
        bmc_url=node.bmc_url,
        bmc_answers=node.bmc,
        image=node.image,
        faults=tuple(LabFault(f.name, f.device, f.option) for f in node.faults),
    )
