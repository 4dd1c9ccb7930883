"""Contradictions in the declared values of InfiniBand, as pure functions.

The role checks them before it changes a node, `clusterctl profile check` without access to a node.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Problem = tuple[str, str]

_PKEY = re.compile(r"0x[0-9a-fA-F]{1,4}")
_MTU_MAX = {"datagram": 4092, "connected": 65520}


def contradictions(variables: Mapping[str, Any]) -> list[Problem]:
    """Every contradiction as (variable, text). `variables`: those of infiniband and, if the node has the roles, of hardware and nccl."""
    return [problem for part in (_ports, _pkeys, _ipoib, _counters, _cabling, _others) for problem in part(variables)]


def _twice(name: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    seen: dict[tuple[str, int], int] = {}
    for i, row in enumerate(rows):
        if seen.setdefault(_port(row), i) != i:
            yield f"{name}[{i}]", f"{row['device']} port {_port(row)[1]} is declared twice"


def _port(row: Mapping[str, Any]) -> tuple[str, int]:
    return row["device"], int(row.get("port", 1))


def _ports(v: Mapping[str, Any]) -> Iterator[Problem]:
    yield from _twice("infiniband_ports", v["infiniband_ports"])
    for i, port in enumerate(v["infiniband_ports"]):
        if float(port["rate_gbps"]) <= 0:
            yield f"infiniband_ports[{i}].rate_gbps", f"{port['rate_gbps']} must be above 0"


def _pkeys(v: Mapping[str, Any]) -> Iterator[Problem]:
    for i, pkey in enumerate(v["infiniband_pkeys"]):
        if not _PKEY.fullmatch(str(pkey)):
            yield f"infiniband_pkeys[{i}]", f"{pkey!r} is not a key such as '0x8001'"


def _ipoib(v: Mapping[str, Any]) -> Iterator[Problem]:
    yield from _twice("infiniband_ipoib", v["infiniband_ipoib"])
    for i, row in enumerate(v["infiniband_ipoib"]):
        mode, mtu = row.get("mode", "datagram"), int(row.get("mtu", 4092))
        if mtu > _MTU_MAX.get(mode, mtu):
            yield f"infiniband_ipoib[{i}].mtu", f"{mtu} exceeds {_MTU_MAX[mode]}, the maximum in {mode} mode"
        address = row.get("address") or ""
        if address:
            try:
                ipaddress.ip_interface(address)
            except ValueError as e:
                yield f"infiniband_ipoib[{i}].address", str(e)
            if "/" not in address:
                yield f"infiniband_ipoib[{i}].address", f"{address} has no prefix length"


def _counters(v: Mapping[str, Any]) -> Iterator[Problem]:
    for name, limit in v["infiniband_counter_limits"].items():
        if not str(limit).isdigit():
            yield f"infiniband_counter_limits.{name}", f"{limit!r} is not a number of 0 or more"


def _cabling(v: Mapping[str, Any]) -> Iterator[Problem]:
    yield from _twice("infiniband_cabling", v["infiniband_cabling"])
    ends: dict[tuple[str, str], str] = {}
    for i, cable in enumerate(v["infiniband_cabling"]):
        end = (cable["peer"], str(cable["peer_port"]))
        if end in ends:
            yield f"infiniband_cabling[{i}].peer_port", f"{end[0]} port {end[1]} is already the far end of {ends[end]}"
        ends.setdefault(end, cable["device"])


def _others(v: Mapping[str, Any]) -> Iterator[Problem]:
    rates = {(h["name"], h.get("port") or 1): float(h["rate_gbps"]) for h in v.get("hardware_hcas") or []}
    for i, port in enumerate(v["infiniband_ports"]):
        other = rates.get((port["device"], port.get("port") or 1))
        if other is not None and other != float(port["rate_gbps"]):
            yield f"infiniband_ports[{i}].rate_gbps", f"is {port['rate_gbps']:g}, but hardware_hcas has {other:g} for {port['device']}"
    collnet = str((v.get("nccl_settings") or {}).get("NCCL_COLLNET_ENABLE", "0"))
    if collnet == "1" and not v["infiniband_sharp"]:
        yield "nccl_settings.NCCL_COLLNET_ENABLE", "is 1, but infiniband_sharp is false, so SHARP is not checked"


def problem_lines(variables: Mapping[str, Any]) -> list[str]:
    """The contradictions as lines, for the role.

    Args:
        variables: the role's variables by name.
    """
    return [f"{where}: {what}" for where, what in contradictions(variables)]


def settings(variables: Mapping[str, Any]) -> dict[str, Any]:
    """The settings file of the script on the node, with the types that it expects.

    Args:
        variables: infiniband_ports and infiniband_ipoib by name.
    """
    ports = [{"device": p["device"], "port": int(p.get("port", 1))} for p in variables["infiniband_ports"]]
    blank = {"port": 1, "interface": "", "mode": "datagram", "mtu": 4092, "address": ""}
    ipoib = [{**blank, **row, "port": int(row.get("port", 1)), "mtu": int(row.get("mtu", 4092))} for row in variables["infiniband_ipoib"]]
    return {"ports": ports, "ipoib": ipoib}


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Any]:
        """Filter name -> function."""
        return {"infiniband_problems": problem_lines, "infiniband_settings": settings}
