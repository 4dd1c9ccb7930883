"""The daemons of the GPU stack: they make the checks of the real ones, set a flag and keep running."""

from __future__ import annotations

import os
import signal
import socket
import sys
from typing import TYPE_CHECKING

from . import state

if TYPE_CHECKING:
    from types import FrameType

HOSTENGINE_PORT = 5555


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
    """nv-fabricmanager: requires the driver of its own version, and becomes a daemon, as its configuration declares."""
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
    state.set_flag("fabric", "1")
    child = os.fork()
    if not child:
        return run_until_sigterm("fabric")
    pid_file = os.environ.get("FM_PID_FILE", "")
    if pid_file:
        os.makedirs(os.path.dirname(pid_file), exist_ok=True)
        with open(pid_file, "w", encoding="ascii") as file:
            file.write(f"{child}\n")
    return 0


def hostengine() -> int:
    """nv-hostengine: accepts connections of dcgmi on the loopback."""
    with socket.create_server(("127.0.0.1", HOSTENGINE_PORT)) as server:
        while True:
            client, _ = server.accept()
            client.close()
