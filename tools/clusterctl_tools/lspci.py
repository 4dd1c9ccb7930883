"""lspci: Access Control Services of PCI bridges (PCI Express Base Specification, 7.7.11)."""

import re
from typing import Dict, Tuple

# Class 0604: PCI-to-PCI bridges, which root ports and ports of PCIe switches are.
BRIDGES = ("lspci", "-D", "-vvv", "-d", "::0604")
_ACS = re.compile(r"ACSCtl:\s*(.*)")


class UnreadableBridgesError(ValueError):
    """lspci did not show the capabilities of the bridges."""


def parse_acs(text: str) -> Dict[str, Tuple[str, ...]]:
    """Address -> flags of ACSCtl (`ReqRedir+`), of the bridges that have ACS. Raises UnreadableBridgesError if the capabilities are hidden."""
    if "<access denied>" in text:
        raise UnreadableBridgesError("only root may read the capabilities of PCI devices")
    found = {}
    for block in re.split(r"\n(?=\S)", text):
        flags = _ACS.search(block)
        if flags:
            found[block.split(" ", 1)[0].strip()] = tuple(flags.group(1).split())
    return found
