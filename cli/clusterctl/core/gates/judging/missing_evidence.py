"""What to do about evidence that is missing. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clusterctl.model.gate_reason import NOT_MEASURED, GateReason
from clusterctl.model.gate_result import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.core.gates.gate import Gate
    from clusterctl.model.gate_result import GateResult

_CHECK_NODE = "check network, SSH and power of the node, then `clusterctl burnin {node}`"
_CHECK_WAY = "check network, SSH and power of the node, and that no firewall on either node stops the other (`firewall-cmd --state`, `ufw status`, `iptables -S INPUT`), then `clusterctl burnin {node}`"
_INSTALL = "no role of clusterctl installs it: install it on the node, then `clusterctl burnin {node}`"
_OTHERWISE = "the raw output is in the run directory; correct the cause, then `clusterctl burnin {node}`"
# In order of importance: where several reasons apply, the first is acted on.
_ACTIONS = {
    GateReason.REBOOTED: "find out why in the BMC's event log (`clusterctl bmc {node} --only log`) and the kernel log of the boot before, then burn in again",
    GateReason.NODE_UNREACHABLE: _CHECK_NODE,
    GateReason.NOT_INSTALLED: "role {role} installs it: `clusterctl provision {node}`",
    GateReason.DRIVER_LIBRARY: (
        "the program does not find the driver's libraries (libcuda, libnvidia-ml; `ldconfig -p` lists those of the host), or they are older than its CUDA; where the driver is in "
        "a container (/run/nvidia/driver), see docs/how-to/owned-elsewhere.md; then `clusterctl burnin {node}`"
    ),
    GateReason.NODE_BUSY: "wait for that one to end, then `clusterctl burnin {node}`",
    GateReason.PORT_TAKEN: "end what holds the port, or set another one in gates_settings (`base_port`, `control_port`), then `clusterctl burnin {node}`",
    GateReason.IN_USE: "end it, or wait for its end, then `clusterctl burnin {node}`; what may run beside a measurement is in gates_allowed_programs",
    GateReason.PEER_SILENT: _CHECK_WAY,
    GateReason.SERVER_SILENT: _CHECK_WAY,
    GateReason.NVLINK_UNUSABLE: _OTHERWISE,
    GateReason.NVLS_UNUSABLE: _OTHERWISE,
    GateReason.FABRIC_NOT_READY: _OTHERWISE,
    GateReason.GPU_MEMORY_UNREGISTERED: (
        "the adapter cannot register GPU memory: without `dmabuf: true` in gates_settings.{gate} it needs nvidia-peermem (nvidia_driver_peermem: true, "
        "`lsmod`), with it the open kernel modules and an RDMA stack that supports DMA-BUF; then `clusterctl burnin {node}`"
    ),
    GateReason.ADDRESS_UNUSABLE: (
        "the tool cannot connect by the addresses of these nodes: perftest has IPv6 from 23.07 on, and only for addresses (of names it takes IPv4), Open MPI "
        "where it is built with it (`ompi_info`: IPv6 support); install such a build, or declare other addresses in gates_peer_address; then `clusterctl burnin {node}`"
    ),
    GateReason.TOOL_FAILED: "the tool itself failed, which is not evidence about the hardware: correct what it prints, then `clusterctl burnin {node}`",
    GateReason.GATE_RAISED: "the code of the gate failed, which is not evidence about the node: correct it, then `clusterctl judge last` judges the stored output again",
    GateReason.WRONG_RUN: "it measured something other than the plan specifies: check the program and its version on the node, then `clusterctl burnin {node}`",
    GateReason.NOT_ALLOCATED: "end what holds memory of the GPUs (`nvidia-smi`), then `clusterctl burnin {node}`",
    GateReason.TIMED_OUT: "its output so far is in the run directory; look there for a hanging GPU or link, then `clusterctl burnin {node}`",
    GateReason.EXIT_STATUS: _OTHERWISE,
    GateReason.UNPARSABLE: _OTHERWISE,
    GateReason.TEST_NOT_PASSED: "the test neither passed nor failed: read what it prints in the run directory; nothing else may use the GPUs; `clusterctl burnin {node}`",
    GateReason.INCOMPLETE: "a part of the output is missing, which is not evidence about the hardware: see it in the run directory, then `clusterctl burnin {node}`",
    GateReason.UNCHECKED_RESULTS: "the tool did not check its results: see why in its output, then `clusterctl burnin {node}`",
    GateReason.UNKNOWN_TRANSPORT: "the output names no transport: nothing on the node may change NCCL_DEBUG (/etc/nccl.conf); `clusterctl burnin {node}`",
    GateReason.ABOVE_CEILING: "no hardware is that fast: check the declared rates and what was measured (device, size, version), then `clusterctl burnin {node}`",
    GateReason.NO_BASELINE: "declare a floor in gates_baselines, then `clusterctl judge last`",
}


def hint_for(gate: Gate[Any], reason: GateReason | None, node: str) -> str:
    """The next action on a node whose evidence of a gate is missing for a reason."""
    action = _OTHERWISE if reason is None else gate.actions.get(reason) or _ACTIONS.get(reason, _OTHERWISE)
    if reason is GateReason.NOT_INSTALLED and not gate.installed_by:
        action = _INSTALL
    return action.format(node=node, role=gate.installed_by, gate=gate.name)


def with_hint(gate: Gate[Any], result: GateResult) -> GateResult:
    """A result with its next action: the gate's own about what was measured, else that of the missing evidence; a pass has none."""
    if result.hint or result.outcome in (Outcome.PASS, Outcome.NOT_APPLICABLE):
        return result
    if result.outcome is Outcome.COULD_NOT_RUN or result.reason in NOT_MEASURED:
        return replace(result, hint=hint_for(gate, result.reason, result.node))
    return replace(result, hint=gate.hint(result))


def most_important(reasons: Iterable[GateReason | None]) -> GateReason | None:
    """The reason to act on first; None where there is none."""
    order = list(_ACTIONS)
    known = [r for r in reasons if r is not None]
    return min(known, key=lambda r: order.index(r) if r in order else len(order), default=None)
