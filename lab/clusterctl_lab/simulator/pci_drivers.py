"""Drivers in sysfs: the loaded module mlx5_core has the adapters."""

from __future__ import annotations

import os

from . import machine, sysfs_pci
from .pseudo_files import make_links

ADAPTERS = "mlx5_core"
SYS = "/sys"


def bind(module: str) -> None:
    """Give a module that was loaded its devices."""
    if module != ADAPTERS:
        return
    folder = f"bus/pci/drivers/{module}"
    os.makedirs(f"{SYS}/{folder}", exist_ok=True)
    links = {f"{folder}/module": f"../../../../module/{module}"}
    for device in _adapters():
        if os.path.isdir(f"{SYS}/{device}"):
            links[f"{device}/driver"] = "../" * (device.count("/") + 1) + folder
    make_links(SYS, {path: target for path, target in links.items() if not os.path.lexists(f"{SYS}/{path}")})


def release(module: str) -> None:
    """Take its devices from a module that is unloaded."""
    for device in _adapters() if module == ADAPTERS else ():
        if os.path.islink(f"{SYS}/{device}/driver"):
            os.unlink(f"{SYS}/{device}/driver")


def _adapters() -> list[str]:
    this = machine.THIS
    addresses = [this.hca_addresses[i] for i in machine.live_hcas()] + [a for _, a in (*this.switch_hcas, *this.other_hcas)]
    return [sysfs_pci.device_folder(address) for address in addresses]
