"""The daemons of the GPU stack: they make the checks of the real ones, set a flag and keep running."""

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
    """Set the flag `name`, notify systemd and wait for SIGTERM, which clears the flag."""

    def on_sigterm(_number: int, _frame: FrameType | None) -> None:
        state.set_flag(name, "")
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, on_sigterm)
    state.set_flag(name, "1")
    _notify_systemd()
    while True:
        signal.pause()


def _notify_systemd() -> None:
    """Report readiness to a unit of type notify (sd_notify)."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.sendto(b"READY=1", address.replace("@", "\0", 1) if address.startswith("@") else address)


def persistenced(version: str) -> int:
    """nvidia-persistenced: requires the driver of its own version."""
    if state.driver_version() != version:
        print("nvidia-persistenced failed to initialize. Check syslog for more details.", file=sys.stderr)
        return 1
    # The real one always becomes a daemon: its unit is of type forking.
    state.set_flag("persistence", "1")
    return 0 if os.fork() else run_until_sigterm("persistence")


def fabricmanager(version: str) -> int:
    """nv-fabricmanager: requires the driver of its own version, and a subnet manager on boards that need one."""
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
    """Start the subnet manager on boards that need one, as nvidia-fabricmanager-start.sh does. Returns the exit status."""
    if not machine.THIS.subnet_manager:
        return 0
    if not state.is_module_loaded("ib_umad"):
        print('Detected NVL5+ system\nKernel module "ib_umad" has not been loaded, fabric manager cannot be started', file=sys.stderr)
        return 1
    if not os.path.exists(NVLSM):
        print(f"Detected NVL5+ system\n{NVLSM}: not found, fabric manager cannot be started", file=sys.stderr)
        return 1
    # No parent waits for it: without this a subnet manager that ended would remain as a zombie.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    subprocess.Popen([NVLSM])
    return 0


def hostengine() -> int:
    """nv-hostengine: accepts connections of dcgmi on the loopback."""
    with socket.create_server(("127.0.0.1", HOSTENGINE_PORT)) as server:
        while True:
            client, _ = server.accept()
            client.close()
