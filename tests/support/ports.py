"""Ports for servers that tests start."""

from __future__ import annotations

import random
import socket

# Below the ports that Linux hands out by itself (ip_local_port_range, 32768 on): none of them becomes the port of a connection before its use.
_FIRST, _LAST = 20_000, 32_000
_DRAWN = random.SystemRandom()  # hypothesis sets the seed of `random`, the same in each process of a run


def free_port() -> int:
    """A TCP port that is free on all addresses."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """Different TCP ports that are free on all addresses."""
    found: set[int] = set()
    while len(found) < count:
        port = _DRAWN.randrange(_FIRST, _LAST)
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
        found.add(port)
    return sorted(found)
