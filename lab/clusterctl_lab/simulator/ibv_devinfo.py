"""ibv_devinfo: device and port attributes."""

from __future__ import annotations

import argparse
import os
import sys

from . import machine, nic_settings
from .state import read
from .sysfs_rdma import ROOT

_CODES = {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}
# Mellanox's IEEE number, which the firmware reports; the PCI number is another.
_VENDOR = "0x02c9"


def main(argv: list[str], _version: str) -> int:
    """Show one device (-d), or all; list their names (-l)."""
    parser = argparse.ArgumentParser(prog="ibv_devinfo")
    parser.add_argument("-d", dest="device")
    parser.add_argument("-i", dest="port", type=int, default=0)
    parser.add_argument("-l", dest="list", action="store_true")
    options = parser.parse_args(argv[1:])
    names = sorted(os.listdir(ROOT)) if os.path.isdir(ROOT) else []
    if options.list:
        print(f"{len(names)} HCA{'' if len(names) == 1 else 's'} found:\n" + "".join(f"\t{name}\n" for name in names))
        return 0
    if options.device and options.device not in names:
        print(f"IB device '{options.device}' wasn't found", file=sys.stderr)
        return 255
    if not names:
        print("No IB devices found", file=sys.stderr)
        return 255
    if options.port > 1:
        print("Invalid port requested for device", file=sys.stderr)
        return 4
    for name in [options.device] if options.device else names:
        print(device_text(name))
    return 0


def active_mtu(mtu: int) -> int:
    """The RDMA MTU for an interface MTU: the largest that leaves 96 bytes for headers (iboe_get_mtu in the kernel)."""
    return max((size for size in _CODES if size <= mtu - 96), default=256)


def device_text(device: str) -> str:
    """The output for one device and its port."""
    at = f"{ROOT}/{device}"
    port = f"{at}/ports/1"
    layer = read(f"{port}/link_layer")
    size = 4096
    if layer == "Ethernet":
        interface = nic_settings.interface_name(machine.hca_index(device))
        size = active_mtu(int(read(f"/sys/class/net/{interface}/mtu") or "0"))
    rows = {
        "transport": "InfiniBand (0)",
        "fw_ver": read(f"{at}/fw_ver"),
        "node_guid": read(f"{at}/node_guid"),
        "sys_image_guid": read(f"{at}/sys_image_guid"),
        "vendor_id": _VENDOR,
        "vendor_part_id": int(read(f"{at}/device/device") or "0", 16),
        "hw_ver": f"0x{int(read(f'{at}/hw_rev') or '0', 16):X}",
        "board_id": read(f"{at}/board_id"),
        "phys_port_cnt": 1,
    }
    code, _, state = read(f"{port}/state").partition(": ")
    ports = {
        "state": f"PORT_{state} ({code})",
        "max_mtu": "4096 (5)",
        "active_mtu": f"{size} ({_CODES[size]})",
        "sm_lid": int(read(f"{port}/sm_lid") or "0", 16),
        "port_lid": int(read(f"{port}/lid") or "0", 16),
        "port_lmc": f"0x{int(read(f'{port}/lid_mask_count') or '0'):02x}",
        "link_layer": layer,
    }
    head = f"hca_id:\t{device}\n" + "".join(f"\t{_padded(k, 32)}{v}\n" for k, v in rows.items())
    return head + "\t\tport:\t1\n" + "".join(f"\t\t\t{_padded(k, 24)}{v}\n" for k, v in ports.items())


def _padded(label: str, column: int) -> str:
    """The label and tabs up to a column, which is a multiple of 8."""
    return f"{label}:" + "\t" * ((column - len(label) + 6) // 8)
