"""GIDs of a RoCE port, from sysfs. Their order differs between nodes and boots, so an index must be looked up."""

import ipaddress
from dataclasses import dataclass
from typing import List, Optional, Protocol

from clusterctl_validators.sources import ProbeError

ROOT = "/sys/class/infiniband"


class Reader(Protocol):
    """The part of a probe that is used here."""

    def read(self, path: str) -> Optional[str]:
        """The stripped text of a file; None if absent."""

    def glob(self, pattern: str) -> List[str]:
        """The existing paths that match, sorted."""


@dataclass(frozen=True)
class Gid:
    """One entry. `kind` is the kernel's text, `RoCE v2` or `IB/RoCE v1`; `address` is IPv4 for a mapped address."""

    index: int
    kind: str
    address: str


def read_gids(reader: Reader, device: str, port: int = 1) -> List[Gid]:
    """The entries in use, by index; empty entries are all zeros or have no type."""
    at = "{}/{}/ports/{}".format(ROOT, device, port)
    found = []
    for path in reader.glob(at + "/gids/*"):
        index = path.rpartition("/")[2]
        text, kind = reader.read(path), _kind(reader, "{}/gid_attrs/types/{}".format(at, index))
        if text and kind and index.isdigit():
            address = ipaddress.IPv6Address(text)
            if int(address):
                found.append(Gid(int(index), kind, str(address.ipv4_mapped or address)))
    return sorted(found, key=lambda g: g.index)


def _kind(reader: Reader, path: str) -> str:
    """The type of an entry; the kernel returns EINVAL for an empty one."""
    try:
        return reader.read(path) or ""
    except ProbeError:
        return ""


def routable(gids: List[Gid]) -> List[Gid]:
    """RoCE v2 entries with an address that is not link-local."""
    return [g for g in gids if g.kind == "RoCE v2" and not ipaddress.ip_address(g.address).is_link_local]
