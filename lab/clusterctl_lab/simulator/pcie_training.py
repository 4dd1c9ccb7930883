"""The PCIe links of this machine: as they trained, at rest or under load, in the files and registers of both ends.

At rest the link of a GPU drops to 2.5 GT/s; the uplink of a switch does not. Recorded cards in P8 show that, recorded SXM GPUs that are idle in P0 keep their speed: assumed
is the harder of both. Real nvbandwidth takes far longer than LOADED_S.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from . import load, machine, pci_registers, pseudo_files, state, sysfs_pci

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .state import Faults

SYS = "/sys"
_LANES = 16
_AT_REST = 1
LOADED_S = 2.0


def show(faults: Faults, root: str = "", *, busy: bool = False) -> None:
    """Write what the links of all GPUs and HCAs are now; `busy`: the GPUs are under load."""
    this, root = machine.THIS, root or SYS
    for index in machine.live_hcas():
        name, address = this.hca_names[index], this.hca_addresses[index]
        _write(root, hops(address)[0], this.pcie_gen, faults.pcie_lanes().get(name, _LANES))
    for index, address in enumerate(this.gpu_addresses):
        own, *uplinks = hops(address)
        generation, lanes = trained(faults, index)
        if uplinks:
            _write(root, uplinks[-1], generation, lanes)
            generation, lanes = this.pcie_gen, _LANES
        _write(root, own, generation if busy else _AT_REST, lanes)


def trained(faults: Faults, gpu: int) -> tuple[int, int]:
    """Generation and lanes of the last link before the root port of a GPU: the uplink of its switch, or its own."""
    generation, lanes = machine.THIS.pcie_gen, _LANES
    for fault in faults.of("pcie_uplink_downtrained", str(gpu)):
        kind, number = fault.option.rstrip("0123456789"), int(fault.option.lstrip("genx"))
        generation, lanes = (min(generation, number), lanes) if kind == "gen" else (generation, min(lanes, number))
    return generation, lanes


def share(faults: Faults, gpu: int) -> float:
    """What is left of the bandwidth between host and GPU; the rate doubles with each generation."""
    generation, lanes = trained(faults, gpu)
    return lanes / _LANES / 2.0 ** (machine.THIS.pcie_gen - generation)


def hops(address: str) -> list[tuple[str, str]]:
    """The folders of both ends of each link from a function to its root port, the lower end first."""
    ends = [sysfs_pci.device_folder(address)]
    ends += [sysfs_pci.folder_of_port(address, level) for level in reversed(range(len(sysfs_pci.ports_of(address))))]
    return list(zip(ends[::2], ends[1::2], strict=True))


@contextmanager
def under_load() -> Iterator[None]:
    """The links of the GPUs run at their full speed inside, for some time at least; outside a lab node nothing happens."""
    if not os.path.isdir(load.FOLDER):
        yield
        return
    show(state.read_faults(), busy=True)
    try:
        yield
        time.sleep(LOADED_S)
    finally:
        show(state.read_faults())


def now(address: str) -> tuple[int, int]:
    """Generation and lanes of a GPU's own link, as the driver reports them; outside a lab node those of a loaded one."""
    files = f"{SYS}/bus/pci/devices/{address}"
    speed, lanes = state.read(f"{files}/current_link_speed"), state.read(f"{files}/current_link_width")
    generations = {text: generation for generation, text in sysfs_pci.SPEEDS.items()}
    if not os.path.isdir(load.FOLDER) or speed not in generations:
        return machine.THIS.pcie_gen, _LANES
    return generations[speed], int(lanes)


def _write(root: str, ends: tuple[str, str], generation: int, lanes: int) -> None:
    for folder in ends:
        if os.path.exists(f"{root}/{folder}/config"):  # a GPU that is missing has none
            pseudo_files.write_files(
                root, {f"{folder}/current_link_speed": sysfs_pci.SPEEDS[generation], f"{folder}/current_link_width": lanes}
            )
            pci_registers.show_link(f"{root}/{folder}/config", generation, lanes)
