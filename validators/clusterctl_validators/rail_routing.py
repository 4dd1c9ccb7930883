"""Interfaces, addresses, rules and routes, from iproute2."""

import json
from ipaddress import IPv4Interface, IPv4Network, IPv6Interface, IPv6Network, ip_address, ip_network
from typing import Any, Dict, List, Union

from clusterctl_validators.probe import Probe, ProbeError


def mtu(probe: Probe, interface: str) -> int:
    """The MTU of an interface. Raises ProbeError if ip fails."""
    rows = _answer(probe, "-j", "link", "show", "dev", interface)
    return int(rows[0]["mtu"])


def addresses(probe: Probe, interface: str) -> List[str]:
    """Addresses with prefix length."""
    rows = _answer(probe, "-j", "addr", "show", "dev", interface)
    return ["{}/{}".format(a["local"], a["prefixlen"]) for row in rows for a in row.get("addr_info", [])]


def rules(probe: Probe, version: int, priority: int) -> str:
    """The rules of that priority, with everything else that they select by or do; `none` if there is none."""
    rows = [r for r in _answer(probe, "-{}".format(version), "-N", "-j", "rule", "show") if r["priority"] == priority]
    return "; ".join(_rule(r) for r in rows) or "none"


def _rule(row: Dict[str, Any]) -> str:
    source = "{}/{}".format(row["src"], row["srclen"]) if "srclen" in row else row["src"]
    others = ["{} {}".format(k, row[k]) for k in sorted(row) if k not in ("priority", "src", "srclen", "table", "protocol")]
    return " ".join(["from", source, *others, "lookup", row.get("table", "none")])


def routes(probe: Probe, version: int, table: str) -> str:
    """The routes of a table, sorted; `none` if it is empty."""
    words = {"gateway": "via", "dev": "dev", "prefsrc": "src"}
    rows = _answer(probe, "-{}".format(version), "-N", "-j", "route", "show", "table", table)
    lines = [" ".join([r["dst"]] + ["{} {}".format(word, r[key]) for key, word in words.items() if key in r]) for r in rows]
    return "; ".join(sorted(lines)) or "none"


def expected_routes(own: Union[IPv4Interface, IPv6Interface], interface: str, gateway: str) -> str:
    """The routes that a rail's table should have, in the form of `routes`."""
    lines = ["{} dev {} src {}".format(own.network, interface, own.ip)]
    if gateway:
        lines.append("default via {} dev {}".format(ip_address(gateway), interface))
    return "; ".join(sorted(lines))


def refused_networks(probe: Probe, version: int, network: Union[IPv4Network, IPv6Network]) -> str:
    """Routes of any table and kind `blackhole`, `unreachable` or `prohibit` that lie in a network; empty if there are none.

    One that covers it does not count: the route of the network itself is more specific, and sites and CNIs (Calico) have such aggregates.
    """
    found = []
    for kind in ("blackhole", "unreachable", "prohibit"):
        for row in _answer(probe, "-{}".format(version), "-N", "-j", "route", "show", "table", "all", "type", kind):
            destination = ip_network(row["dst"] if row["dst"] != "default" else "::/0" if version == 6 else "0.0.0.0/0")
            if destination.prefixlen >= network.prefixlen and destination.overlaps(network):
                found.append("{} {} in table {}".format(kind, row["dst"], row.get("table", "254")))
    return ", ".join(found)


def _answer(probe: Probe, *words: str) -> List[Dict[str, Any]]:
    result = probe.run(["ip", *words])
    # The kernel has no routing table without routes.
    if "FIB table does not exist" in result.stderr:
        return []
    if result.error or result.rc != 0:
        raise ProbeError("ip {}: {}".format(" ".join(words), result.error or result.stderr.strip()))
    try:
        return [row for row in json.loads(result.stdout or "[]") if row]
    except ValueError as e:
        raise ProbeError("ip {}: {}".format(" ".join(words), e)) from e
