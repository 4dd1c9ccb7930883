"""What each HCA of this machine is cabled to: rail k of node n is at port n of the leaf switch of rail k."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from .sysfs_rdma import ROOT


@dataclass(frozen=True)
class SwitchPort:
    """A switch port; a fault of the lab may have moved the cable there."""

    switch: str
    port: int


def switch_port(index: int, node: str | None = None) -> SwitchPort:
    """The other end of the cable of the HCA of rail `index`."""
    found = re.search(r"n(\d+)$", node or os.uname().nodename)
    return SwitchPort(f"leaf-su1-rail{index}", int(found[1]) if found else 1)


def hca_devices() -> list[str]:
    """The HCAs that are there."""
    return sorted(os.listdir(ROOT)) if os.path.isdir(ROOT) else []
