"""/sys/bus/pci: GPUs, HCAs and NVSwitches with their configuration space, so that lspci works."""

from __future__ import annotations

import struct

from . import machine

_NVIDIA, _GPU_CLASS = 0x10DE, 0x030200
_MELLANOX, _HCA_CLASS = 0x15B3, 0x020700
_NVSWITCH_CLASS = 0x068000
_SPEEDS = {1: "2.5 GT/s PCIe", 2: "5.0 GT/s PCIe", 3: "8.0 GT/s PCIe", 4: "16.0 GT/s PCIe", 5: "32.0 GT/s PCIe", 6: "64.0 GT/s PCIe"}


def files(missing_gpus: set[int]) -> dict[str, str | int | bytes]:
    """All files, relative to /sys, without the missing GPUs."""
    this = machine.THIS
    gpu, hca = (_NVIDIA, this.gpu_pci_id, _GPU_CLASS), (_MELLANOX, this.hca_pci_id, _HCA_CLASS)
    result: dict[str, str | int | bytes] = {}
    for index, address in enumerate(this.gpu_addresses):
        if index not in missing_gpus:
            result |= _device(address, gpu, machine.numa_node_of_slot(index), this.pcie_gen, 16)
    for index, address in enumerate(this.hca_addresses):
        result |= _device(address, hca, machine.numa_node_of_slot(index), this.pcie_gen, 16)
    for address in this.nvswitch_addresses:
        result |= _device(address, (_NVIDIA, this.nvswitch_pci_id, _NVSWITCH_CLASS), 0, 4, 2)
    for _, address in this.switch_hcas:
        # nvidia-fabricmanager-start.sh recognizes the management functions of NVSwitches by this vpd text.
        result |= _device(address, hca, 0, this.pcie_gen, 2) | {f"{device_folder(address)}/vpd": b"\x82\x06\x00SW_MNG\x78"}
    return result


def links(missing_gpus: set[int]) -> dict[str, str]:
    """The links in /sys/bus/pci/devices, relative to /sys."""
    this = machine.THIS
    missing = {this.gpu_addresses[i] for i in missing_gpus}
    addresses = (*this.gpu_addresses, *this.hca_addresses, *this.nvswitch_addresses, *(a for _, a in this.switch_hcas))
    return {f"bus/pci/devices/{address}": f"../../../{device_folder(address)}" for address in addresses if address not in missing}


def device_folder(address: str) -> str:
    """The folder of a PCI function, relative to /sys; each has its own root port."""
    return f"devices/pci{address.rpartition(':')[0]}/{address}"


def _device(address: str, ids: tuple[int, int, int], numa: int, gen: int, width: int) -> dict[str, str | int | bytes]:
    vendor, device, code = ids
    path = device_folder(address)
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
