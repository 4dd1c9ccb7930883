"""The network that MPI uses on this node: of the address at which the other nodes of its group reach it.

Left to itself, Open MPI connects over every network that looks alike on two nodes, such as a container bridge with the same address on each, and
hangs. Nodes may name their interfaces differently and be in different subnets, so each node has a file of its own. Standard library, Python 3.8+.
"""

from __future__ import annotations

import array
import fcntl
import ipaddress
import socket
import struct
from pathlib import Path
from typing import Any

# In the folder of the run, where mpirun and its daemons are started; mpirun names it for all (mca_base_param_files).
FILE = "open_mpi.conf"
PARAMETERS = ("oob_tcp_if_include", "btl_tcp_if_include")
INTERFACES = Path("/sys/class/net")
IPV6 = Path("/proc/net/if_inet6")
SIOCGIFCONF = 0x8912
IFF_LOOPBACK = 0x8
LIST_SIZE, NAME_SIZE, IPV4_AT = 1 << 18, 16, 20
ENTRY_SIZE = 40 if struct.calcsize("P") == 8 else 32  # noqa: PLR2004 struct ifreq of 64 and 32 bits
DISCARD_PORT = 9


def write_network(folder: Path, steps: list[dict[str, Any]]) -> None:
    """Write the file for the group that this node is in; empty where MPI is to choose by itself."""
    step = next((s for s in steps if s["side"] == "member" or s.get("members")), None)
    if step is None:
        return
    try:
        own = interfaces()
    except OSError:
        own = {}
    chosen = ",".join(interfaces_of(step, own))
    lines = [f"{name} = {chosen}\n" for name in PARAMETERS if chosen]
    (folder / FILE).write_text("".join(lines), encoding="utf-8")


def interfaces_of(step: dict[str, Any], own: dict[str, str]) -> list[str]:
    """The interface that has the declared address of this node, else those of the ways to the others of its group."""
    others = [address for _, address in step.get("members", [])] or [step["peer_address"]]
    declared = [own[a] for a in resolved(step.get("address", "")) if a in own]
    return list(dict.fromkeys(declared or [own[a] for a in map(source_to, others) if a in own]))


def resolved(name: str) -> list[str]:
    """The IP addresses of a name or an address; none where it has none."""
    try:
        return [str(found[4][0]) for found in socket.getaddrinfo(name, DISCARD_PORT, type=socket.SOCK_DGRAM)] if name else []
    except (OSError, UnicodeError):
        return []


def source_to(name: str) -> str:
    """The address of this node on its way to another; empty if there is no way. Sends nothing."""
    for address in resolved(name):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((address, DISCARD_PORT))
                return str(probe.getsockname()[0])
        except OSError:
            continue
    return ""


def interfaces() -> dict[str, str]:
    """Address -> interface, without loopback ones, which Open MPI never uses."""
    found = {**ipv4_interfaces(), **ipv6_interfaces()}
    return {address: name for address, name in found.items() if not is_loopback(name)}


def ipv4_interfaces() -> dict[str, str]:
    """Address -> interface, named as Open MPI names it: a second address may have a label (`eth0:1`)."""
    buffer = array.array("B", bytes(LIST_SIZE))
    request = struct.pack("iP", LIST_SIZE, buffer.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        length = struct.unpack("iP", fcntl.ioctl(probe.fileno(), SIOCGIFCONF, request))[0]
    entries = (buffer[at : at + ENTRY_SIZE].tobytes() for at in range(0, length, ENTRY_SIZE))
    return {socket.inet_ntoa(e[IPV4_AT : IPV4_AT + 4]): e[:NAME_SIZE].split(b"\0", 1)[0].decode("utf-8", "replace") for e in entries}


def ipv6_interfaces() -> dict[str, str]:
    """Address -> interface, as the kernel lists them."""
    try:
        lines = IPV6.read_text(encoding="ascii").splitlines()
    except OSError:
        return {}
    return {str(ipaddress.IPv6Address(int(words[0], 16))): words[-1] for words in map(str.split, lines)}


def is_loopback(name: str) -> bool:
    """By the interface's flags."""
    try:
        return bool(int((INTERFACES / name.split(":", maxsplit=1)[0] / "flags").read_text(encoding="ascii"), 16) & IFF_LOOPBACK)
    except (OSError, ValueError):
        return False
