"""/sys/bus/pci: GPUs, HCAs and NVSwitches with their configuration space, so that lspci works."""

from __future__ import annotations

import struct

from . import machine

_GPU = (0x10DE, 0x2330, 0x030200)
_HCA = (0x15B3, 0x1021, 0x020700)
_NVSWITCH = (0x10DE, 0x22A3, 0x068000)
_SPEEDS = {1: "2.5 GT/s PCIe", 2: "5.0 GT/s PCIe", 3: "8.0 GT/s PCIe", 4: "16.0 GT/s PCIe", 5: "32.0 GT/s PCIe"}


def files(missing_gpus: set[int]) -> dict[str, str | int | bytes]:
    """All files, relative to /sys; a GPU that fell off the bus is not there."""
    result: dict[str, str | int | bytes] = {}
    for index, bus in enumerate(machine.GPU_BUSES):
        if index not in missing_gpus:
            result |= _device(bus, _GPU, machine.numa_node_of_slot(index), 5, 16)
    for index, bus in enumerate(machine.HCA_BUSES):
        result |= _device(bus, _HCA, machine.numa_node_of_slot(index), 5, 16)
    for bus in machine.NVSWITCH_BUSES:
        result |= _device(bus, _NVSWITCH, 0, 4, 2)
    return result


def links(missing_gpus: set[int]) -> dict[str, str]:
    """/sys/bus/pci/devices, relative to /sys."""
    gone = {machine.GPU_BUSES[i] for i in missing_gpus}
    buses = [b for b in (*machine.GPU_BUSES, *machine.HCA_BUSES, *machine.NVSWITCH_BUSES) if b not in gone]
    return {f"bus/pci/devices/0000:{bus}:00.0": f"../../../devices/pci0000:{bus}/0000:{bus}:00.0" for bus in buses}


def _device(bus: str, ids: tuple[int, int, int], numa: int, gen: int, width: int) -> dict[str, str | int | bytes]:
    vendor, device, code = ids
    path = f"devices/pci0000:{bus}/0000:{bus}:00.0"
    cpus = machine.cpus_of_numa_node(numa)
    return {
        f"{path}/vendor": f"0x{vendor:04x}",
        f"{path}/device": f"0x{device:04x}",
        f"{path}/class": f"0x{code:06x}",
        f"{path}/revision": "0xa1" if vendor == _GPU[0] else "0x00",
        f"{path}/irq": 16,
        f"{path}/resource": "\n".join(["0x0000000000000000 0x0000000000000000 0x0000000000000000"] * 7),
        f"{path}/numa_node": numa,
        f"{path}/local_cpulist": machine.cpu_list(cpus),
        f"{path}/current_link_speed": _SPEEDS[gen],
        f"{path}/max_link_speed": _SPEEDS[gen],
        f"{path}/current_link_width": width,
        f"{path}/max_link_width": width,
        f"{path}/aer_dev_fatal": "TOTAL_ERR_FATAL 0",
        f"{path}/aer_dev_nonfatal": "TOTAL_ERR_NONFATAL 0",
        f"{path}/aer_dev_correctable": "RxErr 0\nBadTLP 0\nBadDLLP 0\nRollover 0\nTimeout 0\nTOTAL_ERR_COR 0",
        f"{path}/config": _config(ids, gen, width),
    }


def _config(ids: tuple[int, int, int], gen: int, width: int) -> bytes:
    """256 bytes of configuration space with a PCI Express capability at 0x60 (PCI Express Base, 7.5.3)."""
    vendor, device, code = ids
    space = bytearray(256)
    struct.pack_into("<HHHHI", space, 0, vendor, device, 0x0406, 0x0010, (code << 8) | 0xA1)
    struct.pack_into("<HH", space, 0x2C, vendor, device)
    space[0x34] = 0x60
    # Cap id 0x10, endpoint v2; DevCap; DevCtl/DevSta (512-byte reads, as after any reset); LnkCap; LnkCtl/LnkSta.
    struct.pack_into("<BBHIHHIHH", space, 0x60, 0x10, 0, 0x0002, 0x10008022, 0x2936, 0, (width << 4) | gen, 0, (width << 4) | gen)
    return bytes(space)
