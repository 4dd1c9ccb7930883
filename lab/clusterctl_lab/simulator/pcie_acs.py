"""The price of Access Control Services: what the control registers in the configuration space do to traffic between an HCA and a GPU."""

from __future__ import annotations

from . import machine, sysfs_pci

# ReqRedir, CmpltRedir, UpstreamFwd (PCI Express Base, 7.7.11.3); SrcValid, bit 0, redirects nothing.
_REDIRECTING = 0x001C
# Assumed, as no measurement with both states is public: traffic through the root complex has about half the bandwidth (NVIDIA/nccl issue 1412).
FACTOR = 0.5


def gpudirect_factor(rail: int, root: str = "/sys") -> float:
    """The bandwidth between the HCA and the GPU of a rail as a fraction of that without redirection; only a shared switch has a shorter path."""
    ports = [sysfs_pci.ports_of(addresses[rail]) for addresses in (machine.THIS.gpu_addresses, machine.THIS.hca_addresses)]
    if ports[0][:2] != ports[1][:2]:
        return 1.0
    return FACTOR if any(_redirects(root, own[-1]) for own in ports) else 1.0


def _redirects(root: str, port: str) -> bool:
    try:
        with open(f"{root}/bus/pci/devices/{port}/config", "rb") as file:
            file.seek(sysfs_pci.ACS_CONTROL)
            return bool(int.from_bytes(file.read(2), "little") & _REDIRECTING)
    except FileNotFoundError:
        return False
