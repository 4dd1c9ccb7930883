"""The network interface of an RDMA device's port."""

from typing import List, Optional, Protocol


class Reader(Protocol):
    """The part of a probe that is used here."""

    def read(self, path: str) -> Optional[str]:
        """The stripped text of a file; None if absent."""

    def glob(self, pattern: str) -> List[str]:
        """The existing paths that match, sorted."""


def interface_of(reader: Reader, device: str, port: int = 1) -> str:
    """The interface of a port: of several on one PCI function, the one with the matching dev_port; empty if there is none."""
    found = reader.glob("/sys/class/infiniband/{}/device/net/*".format(device))
    same = [path for path in found if len(found) == 1 or reader.read(path + "/dev_port") == str(port - 1)]
    return same[0].rpartition("/")[2] if same else ""
