"""The long-lived programs of the GPU stack: they check what the real ones check, leave a flag, and stay."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

from . import machine, state

if TYPE_CHECKING:
    from types import FrameType

HOSTENGINE_PORT = 5555
NVLSM = "/opt/nvidia/nvlsm/sbin/nvlsm"


def run_until_sigterm(name: str) -> int:
    """Hold the flag until systemd ends the program."""

    def leave(_number: int, _frame: FrameType | None) -> None:
        state.set_flag(name, "")
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, leave)
    state.set_flag(name, "1")
    _notify_systemd()
    while True:
        signal.pause()


def _notify_systemd() -> None:
    """A unit that waits for its program (sd_notify) has it now."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.sendto(b"READY=1", address.replace("@", "\0", 1) if address.startswith("@") else address)


def persistenced(version: str) -> int:
    """nvidia-persistenced keeps the driver's state while no client runs."""
    if state.driver_version() != version:
        print("nvidia-persistenced failed to initialize. Check syslog for more details.", file=sys.stderr)
        return 1
    return run_until_sigterm("persistence")


def fabricmanager(version: str) -> int:
    """nv-fabricmanager refuses any driver but its own version."""
    driver = state.driver_version()
    if not driver:
        print("fabric manager failed to initialize: NVIDIA driver is not loaded", file=sys.stderr)
        return 1
    if driver != version:
        print(
            f"fabric manager NVIDIA GPU driver interface version {version} don't match with driver version {driver}. "
            "Please update with matching NVIDIA driver package.",
            file=sys.stderr,
        )
        return 1
    return _start_subnet_manager() or run_until_sigterm("fabric")


def _start_subnet_manager() -> int:
    """As nvidia-fabricmanager-start.sh does it on a board whose NVSwitches need one: start it, or say why the fabric manager cannot start."""
    if not machine.THIS.subnet_manager:
        return 0
    if not state.is_module_loaded("ib_umad"):
        print('Detected NVL5+ system\nKernel module "ib_umad" has not been loaded, fabric manager cannot be started', file=sys.stderr)
        return 1
    if not os.path.exists(NVLSM):
        print(f"Detected NVL5+ system\n{NVLSM}: not found, fabric manager cannot be started", file=sys.stderr)
        return 1
    # Nobody waits for it here: one that ended must not look as if it were there.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    subprocess.Popen([NVLSM])
    return 0


def hostengine() -> int:
    """nv-hostengine listens for dcgmi on the loopback."""
    with socket.create_server(("127.0.0.1", HOSTENGINE_PORT)) as server:
        while True:
            client, _ = server.accept()
            client.close()
