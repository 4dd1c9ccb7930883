"""ACS of the ports between a GPU and the Data Direct function of its ConnectX-8, behind a Grace processor.

Ports and flags: rdma_topo of rdma-core (kernel-boot/rdma_topo, NVCX_DMA_Complex.compute_acs); the shared switch port itself has none.
"""

from typing import Dict, List, Mapping, NamedTuple, Optional, Tuple

from clusterctl_tools.lspci import BRIDGES, UnreadableBridgesError, parse_acs
from clusterctl_validators import pcie
from clusterctl_validators.probe import Probe, ProbeError
from clusterctl_validators.record import Record
from clusterctl_validators.virtual_machine import is_virtual_machine

CHECK = "pcie.acs.data_direct"
_FUNCTION = ("0x15b3", "0x2100")
# Root ports of Grace that rdma_topo knows. Behind other processors with a Data Direct function it computes nothing.
_GRACE = {("0x10de", "0x22b1"), ("0x10de", "0x22b2"), ("0x10de", "0x22b8")}
_TO_DATA_DIRECT = ("SrcValid+", "ReqRedir-", "CmpltRedir+", "UpstreamFwd+")
_TO_GPU = ("SrcValid+", "ReqRedir+", "CmpltRedir-", "UpstreamFwd+")
# Without source validation there, the whole segment is one IOMMU group.
_ROOT_PORT = ("SrcValid-", "ReqRedir+", "CmpltRedir+", "UpstreamFwd+")
_AS_NEEDED = "as GPUDirect needs it"
_HINT = (
    "NCCL may fail to register GPU memory by DMA-BUF, or be slower over its adapters: compare `rdma_topo check` of rdma-core, write its settings "
    "(`rdma_topo write-grub-acs`) and reboot"
)


class _Pair(NamedTuple):
    """A Data Direct function, and the ports between it and its GPU with the flags that they need."""

    function: str
    needs: Mapping[str, Tuple[str, ...]]


def judge(record: Record, probe: Probe) -> None:
    """A warning for each function whose ports differ or cannot be read: nobody declared them, and a gate shows whether traffic gets through."""
    functions = [path.rpartition("/")[0] for path in probe.glob(pcie.DEVICES + "/*/device") if probe.read(path) == _FUNCTION[1]]
    functions = [f for f in functions if probe.read(f + "/vendor") == _FUNCTION[0]]
    if not functions:
        record.not_applicable(CHECK, "this node has no Data Direct function (ConnectX-8)")
        return
    if is_virtual_machine(probe):
        record.not_applicable(CHECK, "a virtual machine: its ports are the hypervisor's")
        return
    try:
        flags = _flags(probe)
    except (UnreadableBridgesError, ProbeError) as e:
        record.warn(CHECK, expected=_AS_NEEDED, found="lspci: {}".format(e), hint=_HINT)
        return
    gpus = [pcie.ports_above(probe, folder) for folder in pcie.gpu_functions(probe).values()]
    for function in functions:
        name = "{}[{}]".format(CHECK, function.rpartition("/")[2])
        pair = _pair(probe, function, gpus)
        if pair is None:
            record.not_applicable(name, "not behind a Grace processor together with a GPU: no settings are known")
        else:
            _judge_pair(record, name, pair, flags)


def _flags(probe: Probe) -> Dict[str, Tuple[str, ...]]:
    result = probe.run(BRIDGES)
    if result.rc != 0:
        raise UnreadableBridgesError(result.error or result.stderr.strip() or "exit {}".format(result.rc))
    return parse_acs(result.stdout)


def _pair(probe: Probe, function: str, gpus: List[List[str]]) -> Optional[_Pair]:
    """From the root port down: the ports that both paths share, then the ports at which they part."""
    own = _names(probe, pcie.ports_above(probe, function))
    root = pcie.ports_above(probe, function)[-1:]
    if not root or (probe.read(root[0] + "/vendor"), probe.read(root[0] + "/device")) not in _GRACE:
        return None
    for ports in gpus:
        other = _names(probe, ports)
        shared = sum(1 for a, b in zip(own, other) if a == b)
        if shared and len(own) > shared < len(other):
            return _Pair(function, {own[shared]: _TO_DATA_DIRECT, other[shared]: _TO_GPU, own[0]: _ROOT_PORT})
    return None


def _names(probe: Probe, ports: List[str]) -> List[str]:
    return [pcie.slot_of(probe, port) for port in reversed(ports)]


def _judge_pair(record: Record, name: str, pair: _Pair, flags: Mapping[str, Tuple[str, ...]]) -> None:
    without = [port for port in pair.needs if port not in flags]
    if without:
        record.warn(name, expected=_AS_NEEDED, found="lspci shows no ACS of {}".format(", ".join(without)), hint=_HINT)
        return
    wrong = {port: [f for f in needs if f not in flags[port]] for port, needs in pair.needs.items()}
    wrong = {port: missing for port, missing in wrong.items() if missing}
    if not wrong:
        record.ok(name, True, expected=_AS_NEEDED, found=_AS_NEEDED)
        return
    expected = ", ".join("{} {}".format(port, " ".join(missing)) for port, missing in wrong.items())
    found = ", ".join("{} {}".format(port, " ".join(_turned(flag) for flag in missing)) for port, missing in wrong.items())
    record.warn(name, expected=expected, found=found, hint=_HINT)


def _turned(flag: str) -> str:
    return flag[:-1] + ("-" if flag.endswith("+") else "+")
