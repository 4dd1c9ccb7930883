"""What to do about evidence that is missing. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterctl.model.gate_reason import GateReason
from clusterctl_validators.gpu_vendor import ADVICE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.core.gates.gate import Gate

_CHECK_NODE = "check network, SSH and power of the node, then `clusterctl burnin {node}`"
# In order of importance: where several reasons apply, the first is acted on.
_ACTIONS = {
    GateReason.REBOOTED: "find out why in the BMC's event log (`clusterctl bmc {node} log`) and the kernel log of the boot before, then burn in again",
    GateReason.NODE_UNREACHABLE: _CHECK_NODE,
    GateReason.NOT_INSTALLED: "role {role} installs it: `clusterctl provision {node}`",
    GateReason.NODE_BUSY: "wait for that one to end, then run again",
    GateReason.IN_USE: "end it, or wait for its end, then `clusterctl burnin {node}`; what may run beside a measurement is in gates_allowed_programs",
    GateReason.PEER_SILENT: _CHECK_NODE,
    GateReason.NVLINK_UNUSABLE: f"{ADVICE.unusable_domain}, then `clusterctl burnin {{node}}`",
    GateReason.NVLS_UNUSABLE: f"{ADVICE.refused_multicast}, then `clusterctl burnin {{node}}`",
    GateReason.FABRIC_NOT_READY: f"{ADVICE.fabric_not_ready}, then `clusterctl burnin {{node}}`",
    GateReason.GPU_MEMORY_UNREGISTERED: (
        "the adapter cannot register GPU memory: without `dmabuf: true` in gates_settings.{gate} it needs nvidia-peermem (nvidia_driver_peermem: true, "
        "`lsmod`), with it the open kernel modules and an RDMA stack that knows DMA-BUF; then `clusterctl burnin {node}`"
    ),
    GateReason.TOOL_FAILED: "the tool itself failed, which says nothing about the hardware: correct what it prints, then `clusterctl burnin {node}`",
    GateReason.WRONG_RUN: "it measured something else than the plan says: check the program and its version on the node, then run again",
    GateReason.TIMED_OUT: "its output so far is in the run directory; look there for a hanging GPU or link, then run again",
}
_INSTALL = "no role of clusterctl installs it: install it on the node, then `clusterctl burnin {node}`"
_OTHERWISE = "the raw output is in the run directory; correct the cause, then `clusterctl burnin {node}`"


def hint_for(gate: Gate[Any], reason: GateReason | None, node: str) -> str:
    """The next action on a node whose evidence of a gate is missing for a reason."""
    action = _OTHERWISE if reason is None else _ACTIONS.get(reason, _OTHERWISE)
    if reason is GateReason.NOT_INSTALLED and not gate.installed_by:
        action = _INSTALL
    return action.format(node=node, role=gate.installed_by, gate=gate.name)


def most_important(reasons: Iterable[GateReason | None]) -> GateReason | None:
    """The reason to act on first; None where there is none."""
    order = list(_ACTIONS)
    known = [r for r in reasons if r is not None]
    return min(known, key=lambda r: order.index(r) if r in order else len(order), default=None)
