"""The node's own address on the way to its default route."""

from __future__ import annotations

import pytest

from clusterctl_tools.ip_route import source_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        # Recorded on a node of the lab.
        ("192.0.2.1 via 10.89.243.1 dev eth0 src 10.89.243.11 uid 0 \\    cache \n", "10.89.243.11"),
        ("2001:db8::1 from :: via fe80::1 dev eno1 proto ra src 2001:db8:1::11 metric 100 pref medium\n", "[2001:db8:1::11]"),
        # Recorded in a network namespace: a default route, and no address but the link-local one.
        ("2001:db8::1 from :: via fe80::1 dev eth0 src fe80::fc:ff:fe00:1 metric 1024 pref medium\n", ""),
        ("unreachable 192.0.2.1 dev lo table default\n", ""),
        ("", ""),
    ],
)
def test_the_source_address(text: str, address: str) -> None:
    assert source_address(text) == address
