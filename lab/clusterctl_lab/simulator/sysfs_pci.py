"""/sys/bus/pci: GPUs, HCAs and NVSwitches, each below its root port, with their configuration space, so that lspci works."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from . import machine

if TYPE_CHECKING:
    from collections.abc import Mapping

_NVIDIA, _GPU_CLASS = 0x10DE, 0x030200
_MELLANOX, _HCA_CLASS = 0x15B3, 0x020700
_NVSWITCH_CLASS = 0x068000
# The root port of 4th to 6th generation Xeons.
_PORT = (0x8086, 0x352A, 0x060400)
_SPEEDS = {1: "2.5 GT/s PCIe", 2: "5.0 GT/s PCIe", 3: "8.0 GT/s PCIe", 4: "16.0 GT/s PCIe", 5: "32.0 GT/s PCIe", 6: "64.0 GT/s PCIe"}
# Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats, with the short names of drivers/pci/pcie/aer.c.
_CORRECTABLE = "RxErr BadTLP BadDLLP Rollover Timeout NonFatalErr CorrIntErr HeaderOF"
_UNCORRECTABLE = (
    "Undefined DLP SDES TLP FCP CmpltTO CmpltAbrt UnxCmplt RxOF MalfTLP ECRC UnsupReq ACSViol UncorrIntErr BlockedTLP AtomicOpBlocked TLPBlockedErr"
    " PoisonTLPBlocked"
)


def files(missing_gpus: set[int], *, acs: bool = False) -> dict[str, str | int | bytes]:
    """All files, relative to /sys, without the missing GPUs. `acs`: the kernel has enabled Access Control Services on the ports."""
    this = machine.THIS
    gpu, hca = (_NVIDIA, this.gpu_pci_id, _GPU_CLASS), (_MELLANOX, this.hca_pci_id, _HCA_CLASS)
    result: dict[str, str | int | bytes] = {}
    for index, address in enumerate(this.gpu_addresses):
        if index not in missing_gpus:
            result |= _function(device_folder(address), gpu, machine.numa_node_of_slot(index), this.pcie_gen, 16)
    for index, address in enumerate(this.hca_addresses):
        result |= _function(device_folder(address), hca, machine.numa_node_of_slot(index), this.pcie_gen, 16)
    for address in this.nvswitch_addresses:
        result |= _function(device_folder(address), (_NVIDIA, this.nvswitch_pci_id, _NVSWITCH_CLASS), 0, 4, 2)
    for _, address in this.switch_hcas:
        # nvidia-fabricmanager-start.sh recognizes the management functions of NVSwitches by this vpd text.
        result |= _function(device_folder(address), hca, 0, this.pcie_gen, 2) | {f"{device_folder(address)}/vpd": b"\x82\x06\x00SW_MNG\x78"}
    for address in _addresses():
        width = 2 if address in this.nvswitch_addresses or address in dict(this.switch_hcas).values() else 16
        result |= _function(_port_folder(address), _PORT, 0, this.pcie_gen, width, acs=acs)
    return result


def functions() -> list[str]:
    """The folders of all PCI functions, ports included, relative to /sys."""
    return [folder for address in _addresses() for folder in (_port_folder(address), device_folder(address))]


def _addresses() -> tuple[str, ...]:
    this = machine.THIS
    return (*this.gpu_addresses, *this.hca_addresses, *this.nvswitch_addresses, *(a for _, a in this.switch_hcas))


def links(missing_gpus: set[int]) -> dict[str, str]:
    """The links in /sys/bus/pci/devices, relative to /sys."""
    missing = {machine.THIS.gpu_addresses[i] for i in missing_gpus}
    addresses = _addresses()
    result = {f"bus/pci/devices/{port_of(address)}": f"../../../{_port_folder(address)}" for address in addresses}
    return result | {f"bus/pci/devices/{address}": f"../../../{device_folder(address)}" for address in addresses if address not in missing}


def port_of(address: str) -> str:
    """The address of a function's root port: device 1 on the bus before."""
    domain, bus, _ = address.split(":")
    return f"{domain}:{int(bus, 16) - 1:02x}:01.0"


def device_folder(address: str) -> str:
    """The folder of a PCI function, relative to /sys, in that of its root port."""
    return f"{_port_folder(address)}/{address}"


def _port_folder(address: str) -> str:
    port = port_of(address)
    return f"devices/pci{port.rpartition(':')[0]}/{port}"


def _function(path: str, ids: tuple[int, int, int], numa: int, gen: int, width: int, *, acs: bool = False) -> dict[str, str | int | bytes]:
    vendor, device, code = ids
    cpus = machine.cpus_of_numa_node(numa)
    return {
        f"{path}/vendor": f"0x{vendor:04x}",
        f"{path}/device": f"0x{device:04x}",
        f"{path}/class": f"0x{code:06x}",
        f"{path}/revision": "0xa1" if vendor == _NVIDIA else "0x00",
        f"{path}/irq": 16,
        f"{path}/resource": "\n".join(["0x0000000000000000 0x0000000000000000 0x0000000000000000"] * 7),
        f"{path}/numa_node": numa,
        f"{path}/local_cpulist": machine.cpu_list(cpus),
        f"{path}/current_link_speed": _SPEEDS[gen],
        f"{path}/max_link_speed": _SPEEDS[gen],
        f"{path}/current_link_width": width,
        f"{path}/max_link_width": width,
        f"{path}/config": _config(ids, gen, width, acs=acs),
    } | error_counters(path, {})


def error_counters(path: str, errors: Mapping[str, int]) -> dict[str, str | int | bytes]:
    """The error counters of a function; `errors`: severity (fatal, nonfatal, corrected) -> number."""
    return {
        f"{path}/aer_dev_fatal": _counters(_UNCORRECTABLE, "DLP", "TOTAL_ERR_FATAL", errors.get("fatal", 0)),
        f"{path}/aer_dev_nonfatal": _counters(_UNCORRECTABLE, "UnsupReq", "TOTAL_ERR_NONFATAL", errors.get("nonfatal", 0)),
        f"{path}/aer_dev_correctable": _counters(_CORRECTABLE, "RxErr", "TOTAL_ERR_COR", errors.get("corrected", 0)),
    }


def _counters(names: str, counted: str, total: str, number: int) -> str:
    return "\n".join([*(f"{name} {number if name == counted else 0}" for name in names.split()), f"{total} {number}"])


def _config(ids: tuple[int, int, int], gen: int, width: int, *, acs: bool) -> bytes:
    """4096 bytes of configuration space with a PCI Express capability at 0x60 (PCI Express Base, 7.5.3) and ACS at 0x100 in ports (7.7.11)."""
    vendor, device, code = ids
    port = ids == _PORT
    space = bytearray(4096)
    struct.pack_into("<HHHHI", space, 0, vendor, device, 0x0406, 0x0010, (code << 8) | 0xA1)
    space[0x0E] = int(port)  # header type 1: a bridge
    if not port:
        struct.pack_into("<HH", space, 0x2C, vendor, device)
    space[0x34] = 0x60
    kind = 0x0042 if port else 0x0002  # version 2, root port or endpoint
    # Cap id 0x10; DevCap; DevCtl/DevSta (512-byte reads, as after any reset); LnkCap; LnkCtl/LnkSta.
    struct.pack_into("<BBHIHHIHH", space, 0x60, 0x10, 0, kind, 0x10008022, 0x2936, 0, (width << 4) | gen, 0, (width << 4) | gen)
    if port:
        # Extended capability 0x0D: source validation, redirection of requests and completions, upstream forwarding; supported, and on or off.
        struct.pack_into("<IHH", space, 0x100, 0x0001000D, 0x001D, 0x001D if acs else 0)
    return bytes(space)
