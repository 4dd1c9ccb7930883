"""Who holds a node: the process behind a lease or a run, and whether it is still there."""

from __future__ import annotations

import os
import secrets
import socket
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl import clock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clusterctl.store.store import Store

DEFAULT_TTL_S = 900
# A run on another host that holds no lease is given up after a day: its process cannot be seen from here.
_FOREIGN_RUN_S = 86_400


@dataclass(frozen=True, slots=True)
class Holder:
    """A process, precisely enough that a reused pid or a rebooted host is not taken for it.

    Attributes:
        host: host name.
        pid: process id in the holder's pid namespace.
        mark: `<boot id>/<pid namespace>/<start time in ticks>`; empty where /proc does not say.
    """

    host: str
    pid: int
    mark: str

    @classmethod
    def current(cls) -> Holder:
        """This process."""
        return cls(socket.gethostname(), os.getpid(), _mark(os.getpid()))

    def is_gone(self) -> bool:
        """Whether the process certainly no longer runs. False where that cannot be told (another host, another container)."""
        here = Holder.current()
        if self.host != here.host or not self.mark or not here.mark:
            return False
        boot, namespace, _ = self.mark.split("/")
        our_boot, our_namespace, _ = here.mark.split("/")
        if boot != our_boot:
            return True
        return namespace == our_namespace and not self._runs_here()

    def _runs_here(self) -> bool:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True  # somebody else's process; /proc may be hidden from us as well
        stat = _stat(self.pid)
        return stat is None or (stat[0] not in {"Z", "X"} and stat[19] == self.mark.rpartition("/")[2])


def is_dead(holder: Holder, started_at: str, lease_expires_at: str, now: str) -> bool:
    """Whether the process of a run that never said it ended is gone, as far as that can be told from here."""
    if holder.is_gone():
        return True
    if holder.host == socket.gethostname():
        return False
    return now > (lease_expires_at or clock.after(started_at, _FOREIGN_RUN_S))


def _mark(pid: int) -> str:
    stat = _stat(pid)
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = Path("/proc/self/ns/pid").readlink().name
    except OSError:
        return ""
    return f"{boot}/{namespace}/{stat[19]}" if stat else ""


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat behind the command name, which may itself hold spaces and brackets."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None


@contextmanager
def lease_for(store: Store, names: Iterable[str], *, verb: str, holder: str, ttl_s: float = DEFAULT_TTL_S) -> Iterator[None]:
    """Hold nodes while a short command that is no run works on them.

    Raises:
        LeaseHeldError: somebody else works on one of them.
    """
    ticket = f"{verb}-{secrets.token_hex(6)}"
    store.acquire(names, run_id=ticket, holder=holder, ttl_s=ttl_s)
    try:
        yield
    finally:
        store.release(ticket)
