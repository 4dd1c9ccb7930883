"""Print as JSON what uses the ports of this node's RDMA devices: interfaces, addresses, default routes, the SSH connection. Changes nothing.

A filter judges it (plugins/filter/port_use.py), so this only collects:
- `ip -j` (iproute2 ip/ipaddress.c): `link` names the lower interface of a VLAN, macvlan or IPoIB child, `master` the bond or bridge.
- SSH_CONNECTION (ssh(1)): client address and port, server address and port. sudo drops it (sudoers(5), env_reset), so a parent process may have it.
- The settings files of the roles roce and infiniband: what they configured earlier is not foreign use.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

_SETTINGS = ("roce", "infiniband")


def ip(*words: str) -> list[dict[str, Any]]:
    """The rows of an iproute2 command; no output is not a row."""
    done = subprocess.run(["ip", "-j", *words], capture_output=True, text=True, timeout=60, check=True)
    return [row for row in json.loads(done.stdout or "[]") if row]


def connection(proc: str) -> str:
    """SSH_CONNECTION of this process or the nearest of its parents; empty without one, or where it cannot be read."""
    pid = os.getpid()
    while pid > 1:
        try:
            words = Path(f"{proc}/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
            status = Path(f"{proc}/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            break
        found = [w.partition("=")[2] for w in words if w.startswith("SSH_CONNECTION=")]
        if found:
            return found[0]
        pid = int(next(line.split()[1] for line in status if line.startswith("PPid:")))
    return ""


def reply_route(said: str) -> list[dict[str, Any]]:
    """The route to the client of a connection; none if the kernel has none, as for a link-local address."""
    words = said.split()
    try:
        return ip("route", "get", words[0]) if words else []
    except subprocess.CalledProcessError:
        return []


def devices(root: str) -> dict[str, Any]:
    """RDMA device -> PCI address, and the interfaces of its function."""
    return {
        d.name: {"address": (d / "device").resolve().name, "interfaces": sorted(p.name for p in (d / "device" / "net").glob("*"))}
        for d in sorted(Path(f"{root}/sys/class/infiniband").glob("*"))
    }


def settings(root: str, role: str) -> dict[str, Any]:
    """The settings file that a role wrote; empty if it did not yet, or if the file is damaged."""
    try:
        written: dict[str, Any] = json.loads(Path(f"{root}/etc/clusterctl/{role}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return written


def main(root: str) -> None:
    """Print the document."""
    ssh = os.environ.get("SSH_CONNECTION") or connection(root + "/proc")
    document = {
        "devices": devices(root),
        "interfaces": ip("addr", "show"),
        "default_routes": [row for family in ("-4", "-6") for row in ip("-N", family, "route", "show", "table", "all", "default")],
        "ssh_connection": ssh,
        "ssh_route": reply_route(ssh),
        "settings": {role: settings(root, role) for role in _SETTINGS},
    }
    sys.stdout.write(json.dumps(document) + "\n")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
