"""/sys/bus/pci: GPUs, HCAs and NVSwitches below their ports, with their configuration space, so that lspci and setpci work.

On HGX boards a GPU and the HCA of its rail are below one PCIe switch; on compute trays and for NVSwitches each function has a root port of its own.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from . import machine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .hardware import Hardware

_NVIDIA, _GPU_CLASS = 0x10DE, 0x030200
_MELLANOX, _HCA_CLASS = 0x15B3, 0x020700
_NVSWITCH_CLASS = 0x068000
# The root port of 4th to 6th generation Xeons.
_PORT = (0x8086, 0x352A, 0x060400)
# Ports of Broadcom's switches of generation 5 (PEX890xx) and 4 (PEX880xx), as lspci names them on HGX boards.
_SWITCH = {5: (0x1000, 0xC030, 0x060400), 4: (0x1000, 0xC010, 0x060400)}
# Device/port types of the PCI Express capability (PCI Express Base, 7.5.3.2).
_ROOT, _UPSTREAM, _DOWNSTREAM, _ENDPOINT = 4, 5, 6, 0
# Where the simulated configuration space has the control register of ACS.
ACS_CONTROL = 0x106
SPEEDS = {1: "2.5 GT/s PCIe", 2: "5.0 GT/s PCIe", 3: "8.0 GT/s PCIe", 4: "16.0 GT/s PCIe", 5: "32.0 GT/s PCIe", 6: "64.0 GT/s PCIe"}
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
            result |= _function(device_folder(address), gpu, machine.numa_node_of_slot(index), (this.pcie_gen, 16))
    for index in machine.live_hcas():
        result |= _function(device_folder(this.hca_addresses[index]), hca, machine.numa_node_of_slot(index), (this.pcie_gen, 16))
    for _, address in this.other_hcas:
        result |= _function(device_folder(address), hca, int(address > "0000:80"), (this.pcie_gen, 16))
    for address in this.nvswitch_addresses:
        result |= _function(device_folder(address), (_NVIDIA, this.nvswitch_pci_id, _NVSWITCH_CLASS), 0, (4, 2))
    for _, address in this.switch_hcas:
        # nvidia-fabricmanager-start.sh recognizes the management functions of NVSwitches by this vpd text.
        result |= _function(device_folder(address), hca, 0, (this.pcie_gen, 2)) | {
            f"{device_folder(address)}/vpd": b"\x82\x03\x00CX7\x90\x0e\x00V0\x0bSMDL=SW_MNG\x78"
        }
    for address in _addresses():
        width = 2 if address in this.nvswitch_addresses or address in dict(this.switch_hcas).values() else 16
        for port in ports_of(address):
            result |= _function(
                _folder(ports_of(address), port), _ids_of_port(port), 0, (this.pcie_gen, width), _kind_of_port(port), acs=acs
            )
    return result


def functions() -> list[str]:
    """The folders of all PCI functions, ports included, relative to /sys."""
    folders = (f for a in _addresses() for f in (*(_folder(ports_of(a), port) for port in ports_of(a)), device_folder(a)))
    return list(dict.fromkeys(folders))


def _addresses() -> tuple[str, ...]:
    this = machine.THIS
    return (*this.gpu_addresses, *this.hca_addresses, *this.nvswitch_addresses, *(a for _, a in (*this.switch_hcas, *this.other_hcas)))


def links(missing_gpus: set[int]) -> dict[str, str]:
    """The links in /sys/bus/pci/devices, relative to /sys."""
    missing = {machine.THIS.gpu_addresses[i] for i in missing_gpus}
    missing |= {a for i, a in enumerate(machine.THIS.hca_addresses) if i not in machine.live_hcas()}
    result = {f"bus/pci/devices/{port}": f"../../../{_folder(ports_of(a), port)}" for a in _addresses() for port in ports_of(a)}
    return result | {f"bus/pci/devices/{a}": f"../../../{device_folder(a)}" for a in _addresses() if a not in missing}


def ports_of(address: str) -> tuple[str, ...]:
    """The ports above a function, the root port first: with a switch between, those of its uplink and the switch port of this function."""
    domain, bus, _ = address.split(":")
    rail = _rail_of(machine.THIS, address)
    if rail is None:
        return (f"{domain}:{int(bus, 16) - 1:02x}:01.0",)
    first, number = min(int(a.split(":")[1], 16) for a in rail), rail.index(address)
    return f"{domain}:{first - 3:02x}:01.0", f"{domain}:{first - 2:02x}:00.0", f"{domain}:{first - 1:02x}:{number:02x}.0"


def _rail_of(this: Hardware, address: str) -> tuple[str, str] | None:
    """The GPU and the HCA that share this function's switch; None if it is not below one."""
    rails = () if this.rack_nvlink else tuple(zip(this.gpu_addresses, this.hca_addresses, strict=True))
    return next((rail for rail in rails if address in rail), None)


def _kind_of_port(port: str) -> int:
    return _ROOT if not _is_of_switch(port) else _UPSTREAM if any(ports_of(a)[1:2] == (port,) for a in _addresses()) else _DOWNSTREAM


def _is_of_switch(port: str) -> bool:
    return any(port in ports_of(a)[1:] for a in _addresses())


def _ids_of_port(port: str) -> tuple[int, int, int]:
    return _SWITCH[machine.THIS.pcie_gen] if _is_of_switch(port) else _PORT


def device_folder(address: str) -> str:
    """The folder of a PCI function, relative to /sys, in that of the port above it."""
    ports = ports_of(address)
    return f"{_folder(ports, ports[-1])}/{address}"


def folder_of_port(address: str, level: int) -> str:
    """The folder of a port above a function: 0 is the root port."""
    ports = ports_of(address)
    return _folder(ports, ports[level])


def _folder(ports: tuple[str, ...], port: str) -> str:
    above = "/".join(ports[: ports.index(port) + 1])
    return f"devices/pci{ports[0].rpartition(':')[0]}/{above}"


def _function(
    path: str, ids: tuple[int, int, int], numa: int, link: tuple[int, int], kind: int = _ENDPOINT, *, acs: bool = False
) -> dict[str, str | int | bytes]:
    (vendor, device, code), (gen, width) = ids, link
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
        f"{path}/current_link_speed": SPEEDS[gen],
        f"{path}/max_link_speed": SPEEDS[gen],
        f"{path}/current_link_width": width,
        f"{path}/max_link_width": width,
        f"{path}/uevent": f"PCI_CLASS={code:X}\nPCI_ID={vendor:04X}:{device:04X}\nPCI_SLOT_NAME={path.rpartition('/')[2]}",
        f"{path}/config": _config(ids, link, kind, acs=acs),
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


def _config(ids: tuple[int, int, int], link: tuple[int, int], kind: int, *, acs: bool) -> bytes:
    """4096 bytes of configuration space with a PCI Express capability at 0x60 (PCI Express Base, 7.5.3) and ACS at 0x100 in root ports and downstream ports (7.7.11)."""
    (vendor, device, code), (gen, width) = ids, link
    port = kind != _ENDPOINT
    space = bytearray(4096)
    struct.pack_into("<HHHHI", space, 0, vendor, device, 0x0406, 0x0010, (code << 8) | 0xA1)
    space[0x0E] = int(port)  # header type 1: a bridge
    if not port:
        struct.pack_into("<HH", space, 0x2C, vendor, device)
    space[0x34] = 0x60
    # Cap id 0x10; DevCap; DevCtl/DevSta (512-byte reads, as after any reset); LnkCap; LnkCtl/LnkSta.
    struct.pack_into("<BBHIHHIHH", space, 0x60, 0x10, 0, (kind << 4) | 2, 0x10008022, 0x2936, 0, (width << 4) | gen, 0, (width << 4) | gen)
    if kind in (_ROOT, _DOWNSTREAM):
        # Extended capability 0x0D: source validation, redirection of requests and completions, upstream forwarding; supported, and on or off.
        struct.pack_into("<IHH", space, 0x100, 0x0001000D, 0x001D, 0x001D if acs else 0)
    return bytes(space)
