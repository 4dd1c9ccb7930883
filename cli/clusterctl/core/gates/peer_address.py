"""The address at which other nodes reach one, as declared: what is wrong with it. Pure."""

from __future__ import annotations

import re
from ipaddress import ip_address

# A last part of digits alone is an IPv4 address with a mistake, as in 10.0.0.300.
_NAME = re.compile(r"(?!.*(?:^|\.)\d+$)[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?")


def peer_address_problem(declared: str, host: str) -> str:
    """Why the others cannot use the declared address, or where it is empty, the `host` of the SSH connection; empty where they can."""
    try:
        address = ip_address(declared or host)
    except ValueError:
        good = not declared or _NAME.fullmatch(declared)
        return "" if good else f"{declared!r} is neither an IP address nor a host name; both stand without brackets, port and prefix length"
    if address.is_link_local:
        where = "" if declared else ", the address of the SSH connection,"
        return f"{address}{where} is link-local: another node reaches it by an interface of its own, which is not known here; declare another address"
    if address.is_unspecified or address.is_multicast:
        return f"{address} is not the address of one node"
    return ""
