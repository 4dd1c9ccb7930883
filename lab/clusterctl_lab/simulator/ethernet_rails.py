"""Ethernet rails: one network interface per HCA, its files in sysfs, and GIDs derived from its addresses."""

from __future__ import annotations

import ipaddress
import json
import os
import socket
import subprocess

from . import machine, networkd, nic_settings, sysfs_pci, sysfs_rdma
from .pseudo_files import make_links, write_files

_ADDRESS_EVENTS = 0x10 | 0x100  # RTMGRP_IPV4_IFADDR, RTMGRP_IPV6_IFADDR


def create_rails(root: str) -> None:
    """Create the interfaces, and /sys/class/net with their files below `root`, which becomes /sys."""
    _reset_network()
    pairs = [f"link add {nic_settings.interface_name(i)} type veth peer name switch{i}\nlink set switch{i} up" for i in machine.live_hcas()]
    _ip(pairs)
    rails = {nic_settings.interface_name(i): i for i in machine.live_hcas()}
    others = [n for n in os.listdir("/sys/class/net") if n not in rails]
    make_links(root, {f"class/net/{name}": f"../../devices/virtual/net/{name}" for name in others})
    for name, index in rails.items():
        write_files(root, _files(name))
        write_files(root, {f"{sysfs_pci.device_folder(machine.THIS.hca_addresses[index])}/net/{name}/dev_port": 0})
        make_links(
            root,
            {
                f"class/net/{name}/{file}": f"../../../devices/virtual/net/{name}/{file}"
                for file in ("mtu", "address", "operstate", "ifindex")
            },
        )
    networkd.show({name: machine.THIS.hca_addresses[index] for name, index in rails.items()})


def _reset_network() -> None:
    """Remove interfaces and rules of the last boot: a container keeps its network namespace when it reboots."""
    _ip([f"link del {name}" for name in os.listdir("/sys/class/net") if nic_settings.device_of_interface(name)])
    _ip(["rule flush", "rule add from all lookup main priority 32766", "rule add from all lookup default priority 32767"])
    _ip(["rule flush", "rule add from all lookup main priority 32766"], "-6")


def _ip(lines: list[str], *options: str) -> None:
    subprocess.run(["ip", *options, "-batch", "-"], input="".join(f"{line}\n" for line in lines), text=True, check=True)


def _files(name: str) -> dict[str, str | int | bytes]:
    """Congestion control with the firmware's defaults: enabled for all priorities."""
    at = f"class/net/{name}/ecn"
    files: dict[str, str | int | bytes] = {f"{at}/{point}/enable/{p}": 1 for point in ("roce_np", "roce_rp") for p in range(8)}
    return files | {
        f"{at}/roce_np/cnp_dscp": 48,
        f"{at}/roce_np/cnp_802p_prio": 6,
        f"{at}/roce_np/min_time_between_cnps": 4,
        f"{at}/roce_rp/rpg_ai_rate": 5,
    }


def address_event_socket() -> socket.socket:
    """A netlink socket that becomes readable when an address is added or removed."""
    events = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    events.bind((0, _ADDRESS_EVENTS))
    return events


def refresh_gids(root: str = "/sys") -> None:
    """Write two GIDs per address in the kernel's order: link-local addresses first, RoCE v1 before v2."""
    shown = subprocess.run(["ip", "-j", "addr", "show"], capture_output=True, text=True, check=True).stdout
    addresses = {row["ifname"]: [a["local"] for a in row["addr_info"]] for row in json.loads(shown) if row.get("ifname")}
    for index in machine.live_hcas():
        name = nic_settings.interface_name(index)
        ordered = sorted(addresses.get(name, []), key=lambda a: (not ipaddress.ip_address(a).is_link_local, a))
        write_files(root, gid_files(f"class/infiniband/{machine.hca_name(index)}/ports/1", name, ordered))


def gid_files(port: str, interface: str, addresses: list[str]) -> dict[str, str | int | bytes]:
    """The files of the first sixteen GID table entries; an empty entry has no type."""
    files: dict[str, str | int | bytes] = {}
    local = [a for a in addresses if ipaddress.ip_address(a).is_link_local] or ["fe80::1"]
    entries = [(a, kind) for a in [*local[:1], *[b for b in addresses if b not in local]] for kind in ("IB/RoCE v1", "RoCE v2")]
    for index in range(sysfs_rdma.GIDS):
        address, kind = entries[index] if index < len(entries) else ("::", "")
        own = ipaddress.ip_address(address)
        full = ipaddress.IPv6Address(f"::ffff:{own}") if own.version == 4 else own
        files[f"{port}/gids/{index}"] = full.exploded
        files[f"{port}/gid_attrs/types/{index}"] = kind
        files[f"{port}/gid_attrs/ndevs/{index}"] = interface if kind else ""
    return files
