"""ACS of the ports between a GPU and its ConnectX-8, whose own PCIe switch joins both.

Ports and flags: rdma_topo of rdma-core (kernel-boot/rdma_topo). Behind Grace the adapter reaches the GPU by a Data Direct function (NVCX_DMA_Complex), behind
other processors by itself (NVCX_Inline_Complex), with ACS off, or on where virtual machines get adapter and GPU.
"""

from typing import Dict, Iterator, List, Mapping, NamedTuple, Set, Tuple

from clusterctl_tools.lspci import BRIDGES, UnreadableBridgesError, parse_acs
from clusterctl_validators import pcie
from clusterctl_validators.probe import Probe, ProbeError
from clusterctl_validators.record import Record
from clusterctl_validators.virtual_machine import is_virtual_machine

CHECK = "pcie.acs.gpu_direct"
_MELLANOX, _NVIDIA = "0x15b3", "0x10de"
_DATA_DIRECT = {(_MELLANOX, "0x2100")}
_ADAPTERS = {(_MELLANOX, device) for device in ("0x1021", "0x1023", "0x1025")}
_SWITCHES = {(_MELLANOX, device) for device in ("0x197c", "0x1979")}
# Root ports of Grace and Vera. Behind other processors with a Data Direct function rdma_topo computes nothing.
_GRACE = {(_NVIDIA, device) for device in ("0x22b1", "0x22b2", "0x22b8")}
_VERA = {(_NVIDIA, device) for device in ("0x2f95", "0x2f96")}
_AS_NEEDED = "as GPUDirect needs it"
_HINT = (
    "NCCL may fail to register GPU memory by DMA-BUF, or be slower over its adapters: compare `rdma_topo check` of rdma-core, write its settings "
    "(`rdma_topo write-grub-acs`) and reboot"
)

_Flags = Tuple[str, ...]
_KERNEL: _Flags = ("SrcValid+", "ReqRedir+", "CmpltRedir+", "UpstreamFwd+")
_OFF: _Flags = ("SrcValid-", "ReqRedir-", "CmpltRedir-", "UpstreamFwd-")


class _Needs(NamedTuple):
    """The flags of the port to the adapter's function, of that to the GPU, and of the root port."""

    function: _Flags
    gpu: _Flags
    root: _Flags


_BY_DATA_DIRECT = _Needs(
    ("SrcValid+", "ReqRedir-", "CmpltRedir+", "UpstreamFwd+"),
    ("SrcValid+", "ReqRedir+", "CmpltRedir-", "UpstreamFwd+"),
    # Without source validation there, the whole segment is one IOMMU group.
    ("SrcValid-", "ReqRedir+", "CmpltRedir+", "UpstreamFwd+"),
)
_BY_ITSELF = _Needs(_OFF, _OFF, _OFF)
_FOR_MACHINES = _Needs((*_KERNEL, "DirectTrans+"), _KERNEL, _KERNEL)


class _Ports(NamedTuple):
    """Where the paths of a function and of its GPU part: the port of each, and the root port of both."""

    function: str
    gpu: str
    root: str


def judge(record: Record, probe: Probe) -> None:
    """A warning for each function whose ports differ or cannot be read: nobody declared them, and a gate shows whether traffic gets through."""
    ids = {path.rpartition("/")[0]: _id(probe, path.rpartition("/")[0]) for path in probe.glob(pcie.DEVICES + "/*/device")}
    direct = [folder for folder, pci_id in ids.items() if pci_id in _DATA_DIRECT]
    functions = direct or [f for f, pci_id in ids.items() if pci_id in _ADAPTERS and not probe.glob(f + "/physfn")]
    found = list(_behind_grace(probe, functions) if direct else _behind_others(probe, functions))
    if not found:
        record.not_applicable(CHECK, "no GPU is behind the PCIe switch of a ConnectX-8 in a way of which settings are known")
        return
    if is_virtual_machine(probe):
        record.not_applicable(CHECK, "a virtual machine: its ports are the hypervisor's")
        return
    try:
        flags = _flags(probe)
    except (UnreadableBridgesError, ProbeError) as e:
        record.warn(CHECK, expected=_AS_NEEDED, found="lspci: {}".format(e), hint=_HINT)
        return
    for function, ports in found:
        name = "{}[{}]".format(CHECK, function.rpartition("/")[2])
        _judge_ports(record, name, ports, (_BY_DATA_DIRECT,) if direct else (_BY_ITSELF, _FOR_MACHINES), flags)


def by_data_direct(probe: Probe) -> bool:
    """Whether adapters of the node reach GPUs by functions of their own beside these, and not by the one of the network."""
    return any(_id(probe, path.rpartition("/")[0]) in _DATA_DIRECT for path in probe.glob(pcie.DEVICES + "/*/device"))


def _id(probe: Probe, folder: str) -> Tuple[str, str]:
    return probe.read(folder + "/vendor") or "", probe.read(folder + "/device") or ""


def _flags(probe: Probe) -> Dict[str, _Flags]:
    result = probe.run(BRIDGES)
    if result.rc != 0:
        raise UnreadableBridgesError(result.error or result.stderr.strip() or "exit {}".format(result.rc))
    return parse_acs(result.stdout)


def _behind_grace(probe: Probe, functions: List[str]) -> Iterator[Tuple[str, _Ports]]:
    for function in functions:
        above = pcie.ports_above(probe, function)
        if above and _id(probe, above[-1]) in _GRACE:
            for ports in _parting(probe, function)[:1]:
                yield function, ports


def _behind_others(probe: Probe, functions: List[str]) -> Iterator[Tuple[str, _Ports]]:
    """One adapter and one GPU at the same switch of the adapter; of its functions the first."""
    seen: Set[str] = set()
    for function in sorted(functions):
        above = pcie.ports_above(probe, function)
        if not above or not {_id(probe, port) for port in above[:2]} <= _SWITCHES or _id(probe, above[-1]) in _GRACE | _VERA:
            continue
        parting = _parting(probe, function)
        if len(parting) == 1 and parting[0].gpu not in seen:
            seen.add(parting[0].gpu)
            yield function, parting[0]


def _parting(probe: Probe, function: str) -> List[_Ports]:
    """For each GPU that shares the upper port of the function's switch."""
    own = _names(probe, pcie.ports_above(probe, function))
    found = []
    for folder in pcie.gpu_functions(probe).values():
        other = _names(probe, pcie.ports_above(probe, folder))
        shared = len(own) - 1
        if shared and "" not in own and other[:shared] == own[:shared] and len(other) > shared and other[shared] != own[shared]:
            found.append(_Ports(own[shared], other[shared], own[0]))
    return found


def _names(probe: Probe, ports: List[str]) -> List[str]:
    """Addresses of ports from the root port down."""
    return [pcie.slot_of(probe, port) for port in reversed(ports)]


def _judge_ports(record: Record, name: str, ports: _Ports, accepted: Tuple[_Needs, ...], flags: Mapping[str, _Flags]) -> None:
    without = [port for port in ports if port not in flags]
    if without:
        record.warn(name, expected=_AS_NEEDED, found="lspci shows no ACS of {}".format(", ".join(without)), hint=_HINT)
        return
    wrong = [_missing(ports, needs, flags) for needs in accepted]
    if not all(wrong):
        record.ok(name, True, expected=_AS_NEEDED, found=_AS_NEEDED)
        return
    expected = ", ".join("{} {}".format(port, " ".join(missing)) for port, missing in wrong[0].items())
    found = ", ".join("{} {}".format(port, " ".join(map(_turned, missing))) for port, missing in wrong[0].items())
    record.warn(name, expected=expected, found=found, hint=_HINT)


def _missing(ports: _Ports, needs: _Needs, flags: Mapping[str, _Flags]) -> Dict[str, List[str]]:
    missing = {port: [flag for flag in own if flag not in flags[port]] for port, own in zip(ports, needs)}
    return {port: found for port, found in missing.items() if found}


def _turned(flag: str) -> str:
    return flag[:-1] + ("-" if flag.endswith("+") else "+")
