"""What mlx5_core logs of each HCA: its PCIe bandwidth when it starts, and for Ethernet every change of its link."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import link_type, machine, nic_settings, sysfs_pci

if TYPE_CHECKING:
    from .kernel_log import KernelLog
    from .state import Faults

# Generation -> GT/s, and Mb/s of a lane after encoding, as drivers/pci/pci.h of Linux 6.8 computes them.
_RATES = {3: ("8.0", 7876), 4: ("16.0", 15753), 5: ("32.0", 31507), 6: ("64.0", 64000)}
_LANES = 16


def log_hcas(log: KernelLog, faults: Faults) -> None:
    """Write the lines of a boot."""
    fewer = faults.pcie_lanes()
    for index in machine.live_hcas():
        name, address = machine.THIS.hca_names[index], machine.THIS.hca_addresses[index]
        log.log(f"mlx5_core {address}: firmware version: 28.43.2566")
        log.log(f"mlx5_core {address}: {bandwidth(address, fewer.get(name, _LANES))}")
        if link_type.is_ethernet():
            log.log(f"mlx5_core {address} {nic_settings.interface_name(index)}: Link up")


def log_losses(log: KernelLog, hca: str, losses: int) -> None:
    """Write the lines of a link that goes down and comes back. Of InfiniBand the kernel logs nothing; only its counters change."""
    index = machine.THIS.hca_names.index(hca)
    for state in ("down", "up") * losses if link_type.is_ethernet() else ():
        log.log(f"mlx5_core {machine.THIS.hca_addresses[index]} {nic_settings.interface_name(index)}: Link {state}")


def bandwidth(address: str, lanes: int) -> str:
    """The text of pcie_print_link_status."""
    speed, lane_mbps = _RATES[machine.THIS.pcie_gen]
    capable = f"{speed} GT/s PCIe x{_LANES} link"
    if lanes >= _LANES:
        return f"{_gbps(_LANES * lane_mbps)} Gb/s available PCIe bandwidth ({capable})"
    limit = f"limited by {speed} GT/s PCIe x{lanes} link at {sysfs_pci.ports_of(address)[-1]}"
    return f"{_gbps(lanes * lane_mbps)} Gb/s available PCIe bandwidth, {limit} (capable of {_gbps(_LANES * lane_mbps)} Gb/s with {capable})"


def _gbps(mbps: int) -> str:
    return f"{mbps // 1000}.{mbps % 1000:03d}"
