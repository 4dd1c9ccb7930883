"""PCIe links, error counters, IOMMU and ACS of a node, as sysfs and lspci show them.

Formats: Linux, Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats and sysfs-kernel-iommu_groups; drivers/pci/pci-sysfs.c for the links.
"""

import re
from dataclasses import dataclass
from typing import Dict, List, Optional, Pattern, Tuple

from clusterctl_tools.lspci import BRIDGES, UnreadableBridgesError, parse_acs
from clusterctl_validators.probe import Probe

DEVICES = "/sys/bus/pci/devices"

_SPEED = re.compile(r"^(\d+(?:\.\d+)?) GT/s")
_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6, 128.0: 7}
_TOTAL = re.compile(r"^TOTAL_ERR_\w+ (\d+)$", re.MULTILINE)
# Each of them sends traffic between two devices of a switch through the root complex. Source validation, for which NCCL's guide looks, redirects nothing.
_REDIRECTING = ("ReqRedir+", "CmpltRedir+", "UpstreamFwd+")
# Vendor and class of devices that exchange data without the processor: NVIDIA's GPUs and network adapters, NVMe disks.
_PEER = re.compile(r"0x10de 0x03|0x15b3 0x02|\S+ 0x0108")
_GPU = re.compile(r"0x10de 0x03")
# Storage and management adapters, too: the kernel's name for an adapter does not exist before its driver is loaded.
_ADAPTER = re.compile(r"0x15b3 0x02")
_SLOT = re.compile(r"^PCI_SLOT_NAME=(\S+)$", re.MULTILINE)
_IOMMU_STATES = {"identity": "passthrough", "DMA": "translated", "DMA-FQ": "translated"}


@dataclass(frozen=True)
class PcieLink:
    """The link of one device. None = the kernel does not report it.

    Attributes:
        generation, width: negotiated now.
        most_generation, most_width: what both ends of the link can do.
    """

    generation: Optional[int]
    width: Optional[int]
    most_generation: Optional[int]
    most_width: Optional[int]


@dataclass(frozen=True)
class AerCounts:
    """Errors that a device has reported since it was found at boot."""

    fatal: int
    nonfatal: int
    corrected: int


def read_link(probe: Probe, device: str) -> PcieLink:
    """The link of the PCI device that the folder or link `device` of sysfs is; the folder above it is the port at the other end."""
    port = device + "/.."
    return PcieLink(
        _generation(probe, device + "/current_link_speed"),
        _width(probe, device + "/current_link_width"),
        _least(_generation(probe, device + "/max_link_speed"), _generation(probe, port + "/max_link_speed")),
        _least(_width(probe, device + "/max_link_width"), _width(probe, port + "/max_link_width")),
    )


def _generation(probe: Probe, path: str) -> Optional[int]:
    found = _SPEED.match(probe.read(path) or "")
    return _GENERATIONS.get(float(found.group(1))) if found else None


def _width(probe: Probe, path: str) -> Optional[int]:
    text = probe.read(path) or ""
    # 63: every bit of the register is set, as reads of a device that is gone return. 0: the link is down.
    return int(text) if text.isdigit() and 0 < int(text) < 63 else None


def _least(one: Optional[int], other: Optional[int]) -> Optional[int]:
    known = [v for v in (one, other) if v is not None]
    return min(known) if known else None


def nvme_devices(probe: Probe) -> Dict[str, str]:
    """NVMe controller -> the folder of its PCI device; controllers that are reached over a network have none."""
    links = [p[: -len("/current_link_width")] for p in probe.glob("/sys/class/nvme/nvme*/device/current_link_width")]
    return {link.split("/")[-2]: link for link in links}


def namespaces_of(probe: Probe, controller: str) -> List[str]:
    """The disks of an NVMe controller; with native multipath its own path to one (`nvme0c1n1`) has another name than that disk."""
    paths = probe.glob("/sys/class/nvme/{}/nvme*n*".format(controller))
    return [re.sub(r"c\d+", "", path.rpartition("/")[2]) for path in paths]


def aer_counts(probe: Probe) -> Dict[str, AerCounts]:
    """PCI address -> what the device counted; only devices that counted something. Devices without AER have no such files."""
    counts: Dict[str, AerCounts] = {}
    for path in probe.glob(DEVICES + "/*/aer_dev_fatal"):
        folder = path.rpartition("/")[0]
        found = AerCounts(*(_total(probe, "{}/aer_dev_{}".format(folder, kind)) for kind in ("fatal", "nonfatal", "correctable")))
        if found != AerCounts(0, 0, 0):
            counts[folder.rpartition("/")[2]] = found
    return counts


def _total(probe: Probe, path: str) -> int:
    found = _TOTAL.search(probe.read(path) or "")
    return int(found.group(1)) if found else 0


def iommu_state(probe: Probe, device: str) -> str:
    """`disabled`, `passthrough`, `translated`, or the domain type of the kernel as it is; empty if the kernel does not show it."""
    if not probe.glob("/sys/class/iommu/*"):
        return "disabled"
    kind = probe.read(device + "/iommu_group/type") or ""
    return _IOMMU_STATES.get(kind, kind)


def peer_devices(probe: Probe) -> List[str]:
    """The folders of the GPUs, network adapters and NVMe disks, which exchange data without the processor."""
    folders = [path.rpartition("/")[0] for path in probe.glob(DEVICES + "/*/class")]
    return [f for f in folders if _PEER.match("{} {}".format(probe.read(f + "/vendor"), probe.read(f + "/class")))]


def ports_above(probe: Probe, device: str) -> List[str]:
    """The folders of the ports above a device, the nearest first and the root port last."""
    ports, at = [], device + "/.."
    while (probe.read(at + "/class") or "").startswith("0x0604"):
        ports.append(at)
        at += "/.."
    return ports


def hops_above(probe: Probe, device: str) -> List[str]:
    """The lower ends of the links from a device to its root port, the nearest first: the device, then the upstream port of each switch above it.

    Empty where no port above the device is visible, as in some virtual machines.
    """
    return [device, *ports_above(probe, device)][:-1:2]


def slot_of(probe: Probe, folder: str) -> str:
    """The address of a PCI function; empty if the kernel does not show it."""
    found = _SLOT.search(probe.read(folder + "/uevent") or "")
    return found.group(1) if found else ""


def acs_ports(probe: Probe) -> Tuple[List[str], List[str]]:
    """The ports above devices that exchange data and have ACS, and those of them that redirect traffic. Raises UnreadableBridgesError."""
    result = probe.run(BRIDGES)
    if result.rc != 0:
        raise UnreadableBridgesError(result.error or result.stderr.strip() or "exit {}".format(result.rc))
    flags = parse_acs(result.stdout)
    above = {slot_of(probe, port) for device in peer_devices(probe) for port in ports_above(probe, device)}
    if "" in above:
        raise UnreadableBridgesError("the kernel does not show the address of a port")
    able = [address for address in flags if address in above]
    return able, [address for address in able if any(flag in flags[address] for flag in _REDIRECTING)]


def gpu_functions(probe: Probe) -> Dict[str, str]:
    """PCI address -> folder of the GPUs of NVIDIA: display and 3D controllers."""
    return _functions(probe, _GPU)


def physical_functions(probe: Probe) -> Tuple[List[str], List[str]]:
    """The addresses of NVIDIA's GPUs and of its network adapters, without virtual functions: those have no registers of their own."""
    gpus, adapters = ([a for a, f in _functions(probe, p).items() if not probe.glob(f + "/physfn")] for p in (_GPU, _ADAPTER))
    return gpus, adapters


def _functions(probe: Probe, pattern: Pattern[str]) -> Dict[str, str]:
    folders = [path.rpartition("/")[0] for path in probe.glob(DEVICES + "/*/class")]
    found = [f for f in folders if pattern.match("{} {}".format(probe.read(f + "/vendor"), probe.read(f + "/class")))]
    return {f.rpartition("/")[2]: f for f in found}


def path_limits(probe: Probe, device: str) -> Tuple[int, int]:
    """The generation and the lanes that every part of a device's path can do; 0 = the kernel shows none."""
    parts = [device, *ports_above(probe, device)]
    generations = [_generation(probe, part + "/max_link_speed") for part in parts]
    widths = [_width(probe, part + "/max_link_width") for part in parts]
    return min(filter(None, generations), default=0), min(filter(None, widths), default=0)
