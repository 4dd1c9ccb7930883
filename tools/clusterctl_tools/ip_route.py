"""`ip route get` of iproute2: the way to an address. Only the routing table is read; nothing is sent."""

import re
from typing import List

# An address for documentation (RFC 5737): it is on no network, so the way to it is the default route.
BEYOND = "192.0.2.1"
_SOURCE = re.compile(r"\ssrc\s+([0-9a-f.:]+)")


def default_route_argv() -> List[str]:
    """What prints the way to the default route on one line: `192.0.2.1 via GATEWAY dev NAME src ADDRESS uid 0`."""
    return ["ip", "-oneline", "route", "get", BEYOND]


def source_address(text: str) -> str:
    """The node's own address on that way; empty if the text has none."""
    found = _SOURCE.search(text)
    return found.group(1) if found else ""
