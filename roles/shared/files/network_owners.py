"""Print as JSON what could configure the interfaces of this node's RDMA devices: their files, and who manages each now. Changes nothing.

A filter judges it (plugins/filter/network_owners.py), so this only collects. Files may contain passwords: the task that runs this shows nothing.
- netplan(5): /lib, /etc and /run/netplan; what it generates is not read, because it follows from these.
- systemd.network(5): /etc and /run/systemd/network. Those of the distribution match no adapter of a rail.
- NetworkManager: nm-settings-keyfile(5), and ifcfg files, which RHEL 9 still reads (nm-settings-ifcfg-rh(5)).
- ifupdown: interfaces(5), where it is installed; its files may be left of an earlier release.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

_PATTERNS = (
    "lib/netplan/*.yaml",
    "etc/netplan/*.yaml",
    "run/netplan/*.yaml",
    "etc/systemd/network/*.network",
    "run/systemd/network/*.network",
    "etc/NetworkManager/system-connections/*.nmconnection",
    "run/NetworkManager/system-connections/*.nmconnection",
    "etc/sysconfig/network-scripts/ifcfg-*",
)
_IFUPDOWN = ("etc/network/interfaces", "etc/network/interfaces.d/*")


def text(path: Path) -> str:
    """The text of a file; empty if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def files(root: str) -> dict[str, str]:
    """Path -> text, without what netplan generated."""
    patterns = _PATTERNS + (_IFUPDOWN if Path(root + "/usr/sbin/ifup").exists() else ())
    found = [path for pattern in patterns for path in sorted(Path(root + "/").glob(pattern))]
    return {f"/{path.relative_to(root + '/')}": text(path) for path in found if not path.name.startswith(("10-netplan-", "netplan-"))}


def interfaces(root: str) -> dict[str, dict[str, Any]]:
    """RDMA device -> PCI address, and its interfaces with their MAC address and managers."""
    return {
        device.name: {
            "address": (device / "device").resolve().name,
            "interfaces": {path.name: interface(root, path.name) for path in sorted((device / "device" / "net").glob("*"))},
        }
        for device in sorted(Path(f"{root}/sys/class/infiniband").glob("*"))
    }


def interface(root: str, name: str) -> dict[str, str]:
    """`mac`, `driver`, and as what each manager that runs has the interface: `networkd` (configured, unmanaged), `network_manager` (10 (unmanaged))."""
    driver = Path(f"{root}/sys/class/net/{name}/device/driver")
    index = text(Path(f"{root}/sys/class/net/{name}/ifindex")).strip()
    state = dict(line.partition("=")[::2] for line in text(Path(f"{root}/run/systemd/netif/links/{index}")).splitlines())
    return {
        "mac": text(Path(f"{root}/sys/class/net/{name}/address")).strip().lower(),
        "driver": driver.resolve().name if driver.exists() else "",
        "networkd": state.get("ADMIN_STATE", ""),
        "network_manager": network_manager_state(name),
    }


def network_manager_state(name: str) -> str:
    """The state that NetworkManager shows; empty if it does not run."""
    try:
        done = subprocess.run(
            ["nmcli", "-g", "GENERAL.STATE", "device", "show", name], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


if __name__ == "__main__":
    ROOT = sys.argv[1] if len(sys.argv) > 1 else ""
    sys.stdout.write(json.dumps({"files": files(ROOT), "devices": interfaces(ROOT)}))
