"""Who listens on a TCP port of this node. Standard library, Python 3.8+.

Formats of the kernel: Documentation/networking/proc_net_tcp.rst (state 0A: LISTEN; the local address ends with the port in hexadecimal digits).
"""

from __future__ import annotations

import glob
import os
import pwd
import socket
import struct
from contextlib import suppress
from pathlib import Path

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
LISTEN = "0A"
LOCAL, STATE, OWNER, INODE = 1, 3, 7, 9


def holder_of(port: int, address: str = "") -> str:
    """The program that listens on a port of `address` (empty: of any address), with its process and owner; empty if none does."""
    for table in TABLES:
        with suppress(OSError):
            for line in Path(table).read_text(encoding="ascii", errors="replace").splitlines()[1:]:
                fields = line.split()
                if len(fields) > INODE and fields[STATE] == LISTEN and _is_local(fields[LOCAL], port, address):
                    return _process_with(fields[INODE]) or f"a process of user {_user(int(fields[OWNER]))}"
    return ""


def _is_local(local: str, port: int, address: str) -> bool:
    """Whether a local address of the table is this port, on this address or on all of them. The table has IPv4 addresses as numbers of the host."""
    host, _, number = local.rpartition(":")
    if int(number, 16) != port:
        return False
    if not address or not int(host, 16):
        return True
    try:
        return host.endswith("{:08X}".format(*struct.unpack("=I", socket.inet_aton(address))))
    except OSError:
        return True  # an IPv6 address or a name: not compared


def _process_with(inode: str) -> str:
    for link in glob.iglob("/proc/[0-9]*/fd/*"):  # noqa: PTH207 Path.glob raises where a process ends under its hands
        with suppress(OSError):
            if os.readlink(link) == f"socket:[{inode}]":  # noqa: PTH115 Python 3.8
                process = link.rpartition("/fd/")[0]
                program = os.readlink(f"{process}/exe")  # noqa: PTH115
                return f"{program}, pid {process.rpartition('/')[2]}, user {_user(Path(process).stat().st_uid)}"
    return ""


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
