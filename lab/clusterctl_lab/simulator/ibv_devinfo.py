"""ibv_devinfo: the port attributes of one HCA that follow from its interface."""

from __future__ import annotations

import argparse
import os
import sys

from . import nic_settings
from .state import read
from .sysfs_rdma import ROOT

_CODES = {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}


def main(argv: list[str], _version: str) -> int:
    """One device with -d; all without."""
    parser = argparse.ArgumentParser(prog="ibv_devinfo")
    parser.add_argument("-d", dest="device")
    parser.add_argument("-i", dest="port", type=int, default=1)
    asked = parser.parse_args(argv[1:])
    names = sorted(os.listdir(ROOT)) if os.path.isdir(ROOT) else []
    if asked.device and asked.device not in names:
        print(f"No IB device '{asked.device}' found", file=sys.stderr)
        return 255
    for name in [asked.device] if asked.device else names:
        print(device_text(name, asked.port))
    return 0


def active_mtu(mtu: int) -> int:
    """The kernel's rule (iboe_get_mtu): the largest that leaves 96 bytes for headers."""
    return max((size for size in _CODES if size <= mtu - 96), default=256)


def device_text(device: str, port: int) -> str:
    """The block of one device."""
    at = f"{ROOT}/{device}"
    layer = read(f"{at}/ports/{port}/link_layer")
    index = int(device.rpartition("_")[2])
    size = active_mtu(int(read(f"/sys/class/net/{nic_settings.interface_name(index)}/mtu") or "0")) if layer == "Ethernet" else 4096
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
