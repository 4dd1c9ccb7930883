"""What an installer leaves on a node: its network file, a newer kernel, a firewall, and upgrades that run in the background of the first boot."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import time

from . import firewall_cmd, kernel_modules, machine, nic_settings
from .pseudo_files import write_files
from .state import read

SEED = machine.INSTALLED
# On the node's own disk: a reboot does not install it again.
DONE = "/usr/lib/clusterctl-lab/fresh-installer-done"
# Units of packages are here: one in /etc could not be masked.
PACKAGED = "/usr/lib/systemd/system"
UNITS = "/etc/systemd/system"
UPGRADE = "apt-daily-upgrade.service"
FIREWALL_CMD = "/usr/bin/firewall-cmd"
# Of a kernel in /boot.
BOOT_FILES = ("vmlinuz", "initrd.img", "config", "System.map")
LOCK = "/var/lib/dpkg/lock-frontend"
# The kernel shows 15 bytes of a name (prctl(2), PR_SET_NAME).
_NAME = b"unattended-upgr"
_PR_SET_NAME = 15
_FIREWALL = (
    "[Unit]\nDescription=firewalld - dynamic firewall daemon (simulated: filters nothing)\n[Service]\n"
    f"ExecStartPre=/bin/sh -c 'rm -rf {firewall_cmd.RUNTIME}; mkdir -p {firewall_cmd.PERMANENT}; cp -a {firewall_cmd.PERMANENT} {firewall_cmd.RUNTIME}'\n"
    "ExecStart=/bin/sleep infinity\n"
)
_FIREWALL_CMD = '#!/bin/sh\nexec /usr/bin/python3 -IS /opt/clusterctl-lab/image_files/run.py firewall_cmd "$@"\n'
_UPGRADE = (
    "[Unit]\nDescription=Daily apt upgrade and clean activities\nDefaultDependencies=no\n"
    "[Service]\nExecStart=/usr/bin/python3 -IS /opt/clusterctl-lab/image_files/run.py fresh_installer {seconds}\n"
)


def on_boot(root: str = "") -> None:
    """Write the files of a node that was installed just now; only at its first boot, and before the boot menu is read."""
    text = read(root + SEED)
    if not text or os.path.exists(root + DONE):
        return
    state = json.loads(text)
    write_files(root or "/", {state["netplan"].lstrip("/"): netplan_text(interfaces())})
    write_files(f"{root}/boot", {f"{name}-{state['kernel']}": "simulated" for name in BOOT_FILES})
    for release in (state["kernel"], *state["kernels_with_modules"]):
        write_files(f"{root}/lib/modules/{release}", {"modules.dep": modules_dep()})
    enable(root, PACKAGED, state["firewall"], _FIREWALL)
    write_files(root or "/", {FIREWALL_CMD.lstrip("/"): _FIREWALL_CMD})
    os.chmod(root + FIREWALL_CMD, 0o755)  # noqa: S103 a program
    enable(root, UNITS, UPGRADE, _UPGRADE.format(seconds=state["package_lock_s"]))
    write_files(root or "/", {DONE.lstrip("/"): "applied\n"})


def after_first_boot(root: str = "") -> None:
    """The upgrade of the first boot is over at the second one; the firewall stays."""
    wanted = f"{root}{UNITS}/multi-user.target.wants/{UPGRADE}"
    if os.path.exists(root + DONE) and os.path.lexists(wanted):
        os.unlink(wanted)


def modules_dep() -> str:
    """The list of all modules of the lab, as depmod writes it."""
    return "\n".join(f"kernel/drivers/{name}.ko.zst:" for name in kernel_modules.IN_TREE)


def interfaces() -> list[str]:
    """The interfaces that the installer found: Ethernet rails have one each."""
    return [nic_settings.interface_name(i) for i in range(machine.HCAS)] if machine.THIS.ethernet else []


def netplan_text(rails: list[str]) -> str:
    """The network file: the node's own interface, and DHCP on all others, which nothing answers."""
    lines = [f"    {name}:\n      dhcp4: true\n" for name in ("eth0", *rails)]
    return "network:\n  version: 2\n  ethernets:\n" + "".join(lines)


def enable(root: str, folder: str, unit: str, text: str) -> None:
    """Install a unit and have the boot start it."""
    link = f"{root}{UNITS}/multi-user.target.wants/{unit}"
    os.makedirs(link.rpartition("/")[0], exist_ok=True)
    write_files(f"{root}{folder}", {unit: text})
    os.symlink(f"{folder}/{unit}", link)


def hold_package_lock(path: str, seconds: float) -> None:
    """Hold dpkg's lock as unattended-upgrades does, under its name."""
    ctypes.CDLL(None).prctl(_PR_SET_NAME, _NAME, 0, 0, 0)
    with open(path, "w", encoding="ascii") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        time.sleep(seconds)


def main(argv: list[str], _version: str = "") -> int:
    """`fresh_installer SECONDS`: upgrade packages (simulated) for so long."""
    hold_package_lock(LOCK, float(argv[1]))
    return 0
