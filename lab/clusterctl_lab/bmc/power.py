"""Power state and resets of a node, carried out on its container."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Timer

from clusterctl_lab.podman import podman

# Redfish reset type -> podman arguments. A graceful stop lets systemd stop its units.
ACTIONS: dict[str, tuple[str, ...]] = {
    "On": ("start",),
    "ForceOn": ("start",),
    "ForceOff": ("stop", "--time", "0"),
    "GracefulShutdown": ("stop", "--time", "20"),
    "ForceRestart": ("restart", "--time", "0"),
    "GracefulRestart": ("restart", "--time", "20"),
    "PowerCycle": ("restart", "--time", "0"),
}
# After these the adapters have lost power, too.
CUTS_POWER = frozenset({"ForceOff", "GracefulShutdown", "PowerCycle"})
# NVIDIA's action for it, as the trees of GB200 and GH200 have it.
AC_CYCLE = "AuxPowerCycle"
_AWAY_S = 3.0


@dataclass(frozen=True, slots=True)
class PowerState:
    """`started_at` is in seconds since the epoch."""

    on: bool
    started_at: float


@dataclass(frozen=True, slots=True)
class _Running:
    """A node that was seen running. `since` is the start of its first process as the kernel counts it: a number that is used again has another."""

    pid: int
    since: str
    state: PowerState


_running: dict[str, _Running] = {}


def power_state(node: str) -> PowerState:
    """The power state of a node, from the state of its container.

    While the first process of a node lives, podman is not run again: it takes longer than the rest of an answer, and a validation reads a dozen resources.

    Raises:
        LabError: the container does not exist.
    """
    known = _running.pop(node, None)
    if known is None or _since(known.pid) != known.since:
        state = json.loads(podman("inspect", "--format", "{{json .State}}", node).stdout)
        now = _parsed(state)
        pid = int(state.get("Pid", 0))
        known = _Running(pid, _since(pid), now)
    if known.state.on and known.since:
        _running[node] = known
    return known.state


def _since(pid: int) -> str:
    """Field 22 of /proc/PID/stat, starttime (proc_pid_stat(5)); empty if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _parsed(state: dict[str, object]) -> PowerState:
    # The standard library does not parse podman's nanoseconds.
    started = str(state["StartedAt"])
    whole, _, rest = started.partition(".")
    digits = "".join(c for c in rest if c.isdigit())[:6] or "0"
    zone = "+00:00" if started.endswith("Z") else started[-6:]
    at = datetime.fromisoformat(f"{whole[:19]}.{digits:0<6}{zone}")
    return PowerState(state["Status"] == "running", at.timestamp())


def reset_node(node: str, kind: str) -> None:
    """Reset a node.

    Raises:
        KeyError: unknown reset type.
        LabError: podman failed.
    """
    podman(*ACTIONS[kind], node)


@dataclass(slots=True)
class AcPower:
    """The power of a whole machine, from which its BMC lives, too. The host comes back with it."""

    _back_at: float = 0.0

    @property
    def is_gone(self) -> bool:
        """Whether the BMC has no power now."""
        return time.monotonic() < self._back_at

    def cycle(self, node: str) -> None:
        """Take it away, and give it back after three seconds."""
        self._back_at = time.monotonic() + _AWAY_S
        timer = Timer(_AWAY_S, reset_node, (node, "On"))
        timer.daemon = True
        timer.start()
