"""Whether the process behind a lease or a run still exists."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl.core.timestamps import after
from clusterctl.model.holder import Holder

if TYPE_CHECKING:
    from clusterctl.model.records import Lease

# A run on another host without a lease counts as dead after a day, because its process cannot be checked from here.
_FOREIGN_RUN_S = 86_400


def current() -> Holder:
    """This process."""
    return Holder(socket.gethostname(), os.getpid(), _mark(os.getpid()))


def is_gone(holder: Holder) -> bool:
    """Whether the process has certainly ended. False if that cannot be determined (another host, another container)."""
    return _is_running(holder) is False


def is_held(lease: Lease, now: str) -> bool:
    """Whether a run still holds a node. The time decides only where its process cannot be seen, because the clock of this host may jump."""
    running = _is_running(lease.process)
    return lease.expires_at > now if running is None else running


def is_dead(holder: Holder, started_at: str, lease_expires_at: str, now: str) -> bool:
    """Whether the process of a run without a recorded end has ended, as far as can be determined from this host."""
    if is_gone(holder):
        return True
    if holder.host == socket.gethostname():
        return False
    return now > (lease_expires_at or after(started_at, _FOREIGN_RUN_S))


def _is_running(holder: Holder) -> bool | None:
    """None if that cannot be determined."""
    here = current()
    if holder.host != here.host or not holder.mark or not here.mark:
        return None
    boot, namespace, _ = holder.mark.split("/")
    our_boot, our_namespace, _ = here.mark.split("/")
    if boot != our_boot:
        return False
    return _runs_here(holder) if namespace == our_namespace else None


def _runs_here(holder: Holder) -> bool:
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # another user's process; /proc may be hidden from us as well
    stat = _stat(holder.pid)
    return stat is None or (stat[0] not in {"Z", "X"} and stat[19] == holder.mark.rpartition("/")[2])


def _mark(pid: int) -> str:
    stat = _stat(pid)
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = Path("/proc/self/ns/pid").readlink().name
    except OSError:
        return ""
    return f"{boot}/{namespace}/{stat[19]}" if stat else ""


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat after the command name, which may itself contain spaces and brackets."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
