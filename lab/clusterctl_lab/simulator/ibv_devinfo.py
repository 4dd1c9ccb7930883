"""ibv_devinfo: device and port attributes."""

from __future__ import annotations

import argparse
import os
import sys

from . import machine, nic_settings
from .state import read
from .sysfs_rdma import ROOT

_CODES = {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}


def main(argv: list[str], _version: str) -> int:
    """Show one device (-d), or all."""
    parser = argparse.ArgumentParser(prog="ibv_devinfo")
    parser.add_argument("-d", dest="device")
    parser.add_argument("-i", dest="port", type=int, default=1)
    options = parser.parse_args(argv[1:])
    names = sorted(os.listdir(ROOT)) if os.path.isdir(ROOT) else []
    if options.device and options.device not in names:
        print(f"No IB device '{options.device}' found", file=sys.stderr)
        return 255
    for name in [options.device] if options.device else names:
        print(device_text(name, options.port))
    return 0


def active_mtu(mtu: int) -> int:
    """The RDMA MTU for an interface MTU: the largest that leaves 96 bytes for headers (iboe_get_mtu in the kernel)."""
    return max((size for size in _CODES if size <= mtu - 96), default=256)


def device_text(device: str, port: int) -> str:
    """The output for one device."""
    at = f"{ROOT}/{device}"
    layer = read(f"{at}/ports/{port}/link_layer")
    size = 4096
    if layer == "Ethernet":
        interface = nic_settings.interface_name(machine.hca_index(device))
        size = active_mtu(int(read(f"/sys/class/net/{interface}/mtu") or "0"))
    rows = {
        "transport": "InfiniBand (0)",
        "fw_ver": read(f"{at}/fw_ver"),
        "node_guid": read(f"{at}/node_guid"),
        "phys_port_cnt": 1,
    }
    ports = {
        "state": f"PORT_{read(f'{at}/ports/{port}/state').rpartition(': ')[2]} ({read(f'{at}/ports/{port}/state')[:1]})",
        "max_mtu": "4096 (5)",
        "active_mtu": f"{size} ({_CODES[size]})",
        "link_layer": layer,
    }
    head = f"hca_id:\t{device}\n" + "".join(f"\t{k}:\t\t\t{v}\n" for k, v in rows.items())
    return head + f"\t\tport:\t{port}\n" + "".join(f"\t\t\t{k}:\t\t{v}\n" for k, v in ports.items())
