"""Power of a node: what a reset does to its container."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from clusterctl_lab.podman import podman

# Reset type -> podman's words. A graceful stop lets systemd stop its units.
ACTIONS: dict[str, tuple[str, ...]] = {
    "On": ("start",),
    "ForceOn": ("start",),
    "ForceOff": ("stop", "--time", "0"),
    "GracefulShutdown": ("stop", "--time", "20"),
    "ForceRestart": ("restart", "--time", "0"),
    "GracefulRestart": ("restart", "--time", "20"),
    "PowerCycle": ("restart", "--time", "0"),
}


@dataclass(frozen=True, slots=True)
class PowerState:
    """`started_at`: seconds of the epoch."""

    on: bool
    started_at: float


def power_state(node: str) -> PowerState:
    """The state of a node's container.

    Raises:
        LabError: there is none.
    """
    state = json.loads(podman("inspect", "--format", "{{json .State}}", node).stdout)
    # podman writes nanoseconds, which the standard library does not read
    started = str(state["StartedAt"])
    whole, _, rest = started.partition(".")
    digits = "".join(c for c in rest if c.isdigit())[:6] or "0"
    zone = "+00:00" if started.endswith("Z") else started[-6:]
    at = datetime.fromisoformat(f"{whole[:19]}.{digits:0<6}{zone}")
    return PowerState(state["Status"] == "running", at.timestamp())


def reset_node(node: str, kind: str) -> None:
    """Carry out a reset.

    Raises:
        KeyError: no such reset type.
        LabError: podman failed.
    """
    podman(*ACTIONS[kind], node)
