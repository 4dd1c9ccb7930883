"""The cabling of this machine: rail k of node n is connected to port n of the leaf switch of rail k."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from .sysfs_rdma import ROOT


@dataclass(frozen=True)
class SwitchPort:
    """A port of a leaf switch."""

    switch: str
    port: int


def switch_port(index: int, node: str | None = None) -> SwitchPort:
    """The switch port to which the HCA of rail `index` is connected."""
    found = re.search(r"n(\d+)$", node or os.uname().nodename)
    return SwitchPort(f"leaf-su1-rail{index}", int(found[1]) if found else 1)


def hca_devices() -> list[str]:
    """The RDMA devices in sysfs."""
    return sorted(os.listdir(ROOT)) if os.path.isdir(ROOT) else []
