"""Registers of simulated PCI functions that must agree with the files of sysfs: the bus numbers of bridges, and what a link is now.

PCI-to-PCI Bridge Architecture, 3.2.5; PCI Express Base, 7.5.3.8 (Link Status). Files: Linux, drivers/pci/pci-sysfs.c.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import sysfs_pci

if TYPE_CHECKING:
    from collections.abc import Mapping

_BUS_NUMBERS = 0x18
# In the PCI Express capability, which sysfs_pci has at 0x60.
_LINK_STATUS = 0x60 + 0x12
_SPEED_AND_WIDTH = 0x3FF


def with_bus_numbers(files: Mapping[str, str | int | bytes]) -> dict[str, str | int | bytes]:
    """The files of all functions, with the numbers of the buses above and below each bridge, also where the device below is missing."""
    result = dict(files)
    folders = sysfs_pci.functions()
    for bridge in folders:
        below = [_bus(folder) for folder in folders if folder.startswith(f"{bridge}/")]
        config = result.get(f"{bridge}/config")
        if below and isinstance(config, bytes):
            numbers = bytes((_bus(bridge), min(below), max(below)))
            result[f"{bridge}/config"] = config[:_BUS_NUMBERS] + numbers + config[_BUS_NUMBERS + len(numbers) :]
            result |= {f"{bridge}/secondary_bus_number": min(below), f"{bridge}/subordinate_bus_number": max(below)}
    return result


def _bus(folder: str) -> int:
    return int(folder.rpartition("/")[2].split(":")[1], 16)


def show_link(config: str, generation: int, lanes: int) -> None:
    """Write speed and width of the link into the register of a function; its other bits stay as they are."""
    file = os.open(config, os.O_RDWR)
    try:
        before = int.from_bytes(os.pread(file, 2, _LINK_STATUS), "little")
        after = before & ~_SPEED_AND_WIDTH | lanes << 4 | generation
        if after != before:
            os.pwrite(file, after.to_bytes(2, "little"), _LINK_STATUS)
    finally:
        os.close(file)
