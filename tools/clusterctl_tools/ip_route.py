"""`ip route get` of iproute2: the way to an address. Only the routing table is read; nothing is sent."""

import re
from typing import List

# Addresses for documentation (RFC 5737, RFC 3849): they are on no network, so the way to them is the default route of their family.
BEYOND = ("192.0.2.1", "2001:db8::1")
_SOURCE = re.compile(r"\ssrc\s+(?!fe80:)([0-9a-f.:]+)")


def default_route_argv(beyond: str) -> List[str]:
    """What prints the way to a default route on one line: `192.0.2.1 via GATEWAY dev NAME src ADDRESS uid 0`."""
    return ["ip", "-oneline", "route", "get", beyond]


def source_address(text: str) -> str:
    """The node's own address on that way, in brackets where it is of IPv6, as before a port; empty if the text has none that needs no interface."""
    found = _SOURCE.search(text)
    address = found.group(1) if found else ""
    return "[{}]".format(address) if ":" in address else address
