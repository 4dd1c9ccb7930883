"""Whether the HCAs of this machine are InfiniBand or Ethernet: a setting in their flash, in force from the next boot on."""

from __future__ import annotations

from .state import read

FILE = "/usr/lib/clusterctl-lab/link-type"


def ethernet() -> bool:
    """ConnectX-7 comes as InfiniBand."""
    return read(FILE) == "ETH"
