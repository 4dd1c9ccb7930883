"""The network interface of an RDMA device's port."""

import re
from typing import List, Optional, Protocol

from clusterctl_validators.sources import ProbeError


class Reader(Protocol):
    """The part of a probe that is used here."""

    def read(self, path: str) -> Optional[str]:
        """The stripped text of a file; None if absent."""

    def glob(self, pattern: str) -> List[str]:
        """The existing paths that match, sorted."""


def interface_of(reader: Reader, device: str, port: int = 1) -> str:
    """The interface of a port: of several on one PCI function, the one with the matching dev_port that is not made of it; empty if there is none.

    Where no number matches, as for planes that are ports 3, 6, 9 and 12, the one that the port's first GID is of.
    """
    found = reader.glob("/sys/class/infiniband/{}/device/net/*".format(device))
    same = [path for path in found if (len(found) == port == 1) or reader.read(path + "/dev_port") == str(port - 1)]
    own = [path for path in same if not _is_made_of_it(reader, path)] if len(same) > 1 else same
    if same:
        return (own or same)[0].rpartition("/")[2]
    return _of_first_gid(reader, device, port) or (found[0].rpartition("/")[2] if len(found) == 1 else "")


def _of_first_gid(reader: Reader, device: str, port: int) -> str:
    try:
        return reader.read("/sys/class/infiniband/{}/ports/{}/gid_attrs/ndevs/0".format(device, port)) or ""
    except ProbeError:
        return ""  # the kernel refuses to show that of an empty GID


def _is_made_of_it(reader: Reader, path: str) -> bool:
    """Whether an interface represents a virtual function (`pf0vf3`, `c1pf0sf88`; the port itself is `p0`), or is a child of IPoIB."""
    try:
        name = reader.read(path + "/phys_port_name") or ""
    except ProbeError:
        name = ""
    return bool(re.match(r"(c\d+)?pf\d", name)) or reader.read(path + "/parent") is not None
