"""Settings of an Ethernet HCA that a reset restores to defaults: quality of service, rings, pause, connection manager defaults."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field

from . import machine
from .state import RUN, read

# On a tmpfs, because a reboot resets the adapters.
FOLDER = f"{RUN}/nics"


@dataclass
class NicSettings:
    """The settings of one HCA; defaults are those of the ConnectX-7 firmware."""

    dcbx: str = "OS"
    trust: str = "pcp"
    priority_of: list[int] = field(default_factory=lambda: [dscp // 8 for dscp in range(64)])
    pfc: list[int] = field(default_factory=lambda: [0] * 8)
    buffer_of: list[int] = field(default_factory=lambda: [0] * 8)
    buffer_sizes: list[int] = field(default_factory=lambda: [262016, 0, 0, 0, 0, 0, 0, 0])
    rings: dict[str, int] = field(default_factory=lambda: {"rx": 1024, "tx": 1024})
    pause: dict[str, str] = field(default_factory=lambda: {"rx": "on", "tx": "on"})
    cma_tos: int = 0
    cma_version: int = 2


def interface_name(index: int) -> str:
    """The network interface of HCA `index`."""
    return f"ens{10 + index}np0"


def device_of_interface(name: str) -> str:
    """The HCA of a network interface; empty if the interface does not belong to an HCA."""
    return next((machine.hca_name(i) for i in range(machine.HCAS) if interface_name(i) == name), "")


def load_settings(device: str) -> NicSettings:
    """The current settings of an HCA."""
    text = read(f"{FOLDER}/{device}.json")
    return NicSettings(**json.loads(text)) if text else NicSettings()


def save_settings(device: str, nic: NicSettings) -> None:
    """Store the settings until the next reset."""
    os.makedirs(FOLDER, exist_ok=True)
    with open(f"{FOLDER}/{device}.json", "w", encoding="utf-8") as file:
        json.dump(asdict(nic), file)
