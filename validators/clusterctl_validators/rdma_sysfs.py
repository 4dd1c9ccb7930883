"""HCAs, from /sys/class/infiniband."""

import re
from dataclasses import dataclass
from typing import Dict, List, Optional, Protocol

ROOT = "/sys/class/infiniband"
# A second device of an adapter, for subnet managers of XDR fabrics: `rdma dev add smi1 type SMI parent mlx5_0` (rdma-dev.8). Whoever adds it
# names it; public ones are smi<N> (Mellanox/rdmamap pull 17, listed on a node) or smi-<device>, and UCX's tests skip this prefix (openucx/ucx pull 10507).
_SMI = "smi"
# In the product data of a function that manages the NVSwitches of a baseboard, and is not an adapter (Fabric Manager User Guide).
SWITCH_MANAGEMENT = "SMDL=SW_MNG"


class Reader(Protocol):
    """The part of a probe that is used here."""

    def read(self, path: str) -> Optional[str]:
        """The stripped text of a file; None if absent."""


class Lister(Protocol):
    """The part of a probe that lists files."""

    def glob(self, pattern: str) -> List[str]:
        """The paths that match."""


@dataclass(frozen=True)
class Port:
    """One port of an HCA.

    Attributes:
        state: logical state, e.g. `ACTIVE`, `INIT`, `DOWN`.
        phys_state: physical state, e.g. `LinkUp`, `Polling`, `Disabled`.
        rate_gbps: the negotiated rate; None if the kernel's text has no number.
        link_layer: `InfiniBand` or `Ethernet`.
        firmware: of the HCA; empty if not shown.
    """

    state: str
    phys_state: str
    rate_gbps: Optional[float]
    link_layer: str
    firmware: str


def parse_state(text: str) -> str:
    """`4: ACTIVE` -> `ACTIVE`."""
    return text.partition(":")[2].strip() or text.strip()


def parse_rate_gbps(text: str) -> Optional[float]:
    """`400 Gb/sec (4X NDR)` -> 400; None if it contains no rate."""
    found = re.match(r"\s*(\d+(?:\.\d+)?)\s*Gb/sec", text)
    return float(found.group(1)) if found else None


def read_port(reader: Reader, hca: str, port: int = 1) -> Optional[Port]:
    """The port; None if the HCA is absent or lacks one of these files."""
    at = "{}/{}/ports/{}/".format(ROOT, hca, port)
    texts: Dict[str, str] = {}
    for name in ("state", "phys_state", "rate", "link_layer"):
        text = reader.read(at + name)
        if text is None:
            return None
        texts[name] = text
    firmware = reader.read("{}/{}/fw_ver".format(ROOT, hca)) or ""
    return Port(
        parse_state(texts["state"]), parse_state(texts["phys_state"]), parse_rate_gbps(texts["rate"]), texts["link_layer"], firmware
    )


def names_at(lister: Lister, address: str) -> List[str]:
    """The names of the RDMA devices of the adapter at a PCI address: one, or none without a driver."""
    paths = lister.glob("/sys/bus/pci/devices/{}/infiniband/*".format(address))
    return [name for name in (path.rstrip("/").rpartition("/")[2] for path in paths) if not name.startswith(_SMI)]


def address_of(lister: Lister, name: str) -> str:
    """The PCI address of an RDMA device; empty if it is at none. One pattern for all devices, so that a probe looks through the bus once."""
    paths = lister.glob("/sys/bus/pci/devices/*/infiniband/*")
    return next((path.split("/")[5] for path in paths if path.rstrip("/").rpartition("/")[2] == name), "")
