"""Contradictions in the declared values of RoCE, as pure functions.

The role checks them before it changes a node, `clusterctl profile check` without access to a node.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Problem = tuple[str, str]

# Overhead besides the payload of an RDMA packet; the kernel subtracts it from the interface's MTU (rdma/ib_addr.h, iboe_get_mtu).
_OVERHEAD_BYTES = 96
_NUMBERS = (
    *("dscp", "priority", "cnp_dscp", "cnp_priority", "traffic_class", "cma_tos", "version", "mtu", "ring_rx", "ring_tx"),
    *("arp_ignore", "arp_announce", "rp_filter", "table_base", "rule_priority_base"),
)
_LISTS = ("pfc_priorities", "ecn_priorities", "buffer_size_bytes", "priority_to_buffer")
_PLAIN = ("dcbx", "trust", "dscp_to_priority", "np_parameters", "rp_parameters", "global_pause")
_SWITCH = ("dscp", "priority", "cnp_dscp", "cnp_priority")
_RANGES = {"roce_dscp": 63, "roce_cnp_dscp": 63, "roce_priority": 7, "roce_cnp_priority": 7, "roce_traffic_class": 255, "roce_cma_tos": 255}


def contradictions(variables: Mapping[str, Any]) -> list[Problem]:
    """Every contradiction as (variable, text). `variables`: those of roce and, if the node has the role, of nccl."""
    problems = list(_ranges(variables))
    if problems:
        return problems
    parts = (_priorities, _marks, _switch, _nccl, _mtu, _buffers, _rails, _addresses)
    return [problem for part in parts for problem in part(variables)]


def priority_of(dscp: int, mapping: Mapping[Any, Any]) -> int:
    """The priority of a DSCP: as declared, or the adapter's default of eight code points per priority."""
    return next((int(p) for d, p in mapping.items() if int(d) == dscp), dscp // 8)


def active_mtu(mtu: int) -> int:
    """The RDMA MTU that fits into an interface's MTU; 0 if none does."""
    return next((size for size in (4096, 2048, 1024, 512, 256) if size <= mtu - _OVERHEAD_BYTES), 0)


def _ranges(v: Mapping[str, Any]) -> Iterator[Problem]:
    for name, greatest in _RANGES.items():
        if not 0 <= int(v[name]) <= greatest:
            yield name, f"{v[name]} is not in 0..{greatest}"
    for name in ("roce_pfc_priorities", "roce_ecn_priorities"):
        for i, priority in enumerate(v[name]):
            if not 0 <= int(priority) <= 7:  # noqa: PLR2004 there are eight priorities
                yield f"{name}[{i}]", f"{priority} is not in 0..7"
    for dscp, priority in v["roce_dscp_to_priority"].items():
        if not (str(dscp).isdigit() and int(dscp) <= 63 and str(priority).isdigit() and int(priority) <= 7):  # noqa: PLR2004
            yield f"roce_dscp_to_priority.{dscp}", f"{dscp} -> {priority} is not a DSCP 0..63 with a priority 0..7"


def _priorities(v: Mapping[str, Any]) -> Iterator[Problem]:
    dscp, priority, mapping = int(v["roce_dscp"]), int(v["roce_priority"]), v["roce_dscp_to_priority"]
    cnp_dscp, cnp_priority = int(v["roce_cnp_dscp"]), int(v["roce_cnp_priority"])
    if v["roce_trust"] == "dscp":
        found = priority_of(dscp, mapping)
        if found != priority:
            yield "roce_priority", f"is {priority}, but DSCP {dscp} (roce_dscp) maps to priority {found} (roce_dscp_to_priority)"
        found = priority_of(cnp_dscp, mapping)
        if found != cnp_priority:
            yield "roce_cnp_priority", f"is {cnp_priority}, but DSCP {cnp_dscp} (roce_cnp_dscp) maps to priority {found}"
    for name, what in (("roce_pfc_priorities", "PFC"), ("roce_ecn_priorities", "ECN")):
        on = [int(p) for p in v[name]]
        if on and priority not in on:
            yield name, f"{what} is on for {_list(on)}, but RoCE has priority {priority} (roce_priority)"
    if cnp_priority in [int(p) for p in v["roce_pfc_priorities"]]:
        text = f"is {cnp_priority}, which PFC can pause (roce_pfc_priorities): congestion would block the notifications that end it"
        yield "roce_cnp_priority", text
    if cnp_dscp == dscp:
        yield "roce_cnp_dscp", f"is {cnp_dscp}, the same as the data (roce_dscp): switches could not distinguish CNPs from data"


def _marks(v: Mapping[str, Any]) -> Iterator[Problem]:
    dscp = int(v["roce_dscp"])
    for name in ("roce_traffic_class", "roce_cma_tos"):
        value = int(v[name])
        if value >> 2 != dscp:
            yield name, f"{value} has DSCP {value >> 2}, but roce_dscp is {dscp}: use {dscp << 2 | 2} (DSCP * 4 + 2 for ECN)"
        elif v["roce_ecn_priorities"] and value & 3 not in (1, 2):
            yield name, f"{value} is not ECN capable (last two bits {value & 3:02b}), but ECN is on: use {dscp << 2 | 2}"


def _switch(v: Mapping[str, Any]) -> Iterator[Problem]:
    for name in _SWITCH:
        theirs, ours = v.get(f"roce_switch_{name}"), int(v[f"roce_{name}"])
        if theirs is not None and int(theirs) != ours:
            yield f"roce_{name}", f"is {ours}, but the switches have {theirs} (roce_switch_{name})"
    theirs, ours_too = v.get("roce_switch_pfc_priorities"), {int(p) for p in v["roce_pfc_priorities"]}
    if theirs is not None and {int(p) for p in theirs} != ours_too:
        text = f"are {_list(ours_too)}, but the switches pause {_list(int(p) for p in theirs)} (roce_switch_pfc_priorities)"
        yield "roce_pfc_priorities", text


def _nccl(v: Mapping[str, Any]) -> Iterator[Problem]:
    settings = v.get("nccl_settings") or {}
    for theirs, ours in (("NCCL_IB_TC", "roce_traffic_class"), ("NCCL_IB_GID_INDEX", "roce_gid_index")):
        if theirs in settings and int(v[ours]) >= 0 and str(settings[theirs]) != str(v[ours]):
            yield f"nccl_settings.{theirs}", f"is {settings[theirs]}, but {ours} is {v[ours]}"
    if settings and "NCCL_IB_GID_INDEX" not in settings:
        yield from _nccl_family(v["roce_rails"], str(settings.get("NCCL_IB_ADDR_FAMILY") or "AF_INET"))


def _nccl_family(rails: Sequence[Mapping[str, Any]], family: str) -> Iterator[Problem]:
    """Without an index, NCCL takes a GID of one family, and where there is none, the link-local one at index 0 (ncclUpdateGidIndex)."""
    found = {"AF_INET6" if ":" in rail["address"] else "AF_INET" for rail in rails if rail.get("address")}
    if found and family not in found:
        text = f"is {family}, but the rails' addresses are of {found.pop()}; without NCCL_IB_GID_INDEX, NCCL would use link-local GIDs"
        yield "nccl_settings.NCCL_IB_ADDR_FAMILY", text


def _mtu(v: Mapping[str, Any]) -> Iterator[Problem]:
    fits = active_mtu(int(v["roce_mtu"]))
    if fits != int(v["roce_active_mtu"]):
        yield "roce_active_mtu", f"is {v['roce_active_mtu']}, but an interface with MTU {v['roce_mtu']} (roce_mtu) allows {fits}"


def _buffers(v: Mapping[str, Any]) -> Iterator[Problem]:
    for name in ("roce_buffer_size_bytes", "roce_priority_to_buffer"):
        if v[name] and len(v[name]) != 8:  # noqa: PLR2004 there are eight buffers
            yield name, f"has {len(v[name])} values; expected 8"


def _rails(v: Mapping[str, Any]) -> Iterator[Problem]:
    rails = v["roce_rails"]
    for key in ("device", "rail"):
        seen: dict[Any, int] = {}
        for i, rail in enumerate(rails):
            if seen.setdefault(rail[key], i) != i:
                yield f"roce_rails[{i}].{key}", f"{rail[key]} is declared twice"
    known = [rail["device"] for rail in rails]
    for i, cable in enumerate(v["roce_cabling"]):
        if cable["device"] not in known:
            yield f"roce_cabling[{i}].device", f"{cable['device']} is not a rail (roce_rails)"


def _addresses(v: Mapping[str, Any]) -> Iterator[Problem]:
    networks: dict[Any, str] = {}
    for i, rail in enumerate(v["roce_rails"]):
        where, address, gateway = f"roce_rails[{i}]", rail.get("address") or "", rail.get("gateway") or ""
        problem = _address_problem(address, gateway)
        if problem:
            yield f"{where}.{problem[0]}", problem[1]
        elif address:
            own = ipaddress.ip_interface(address).network
            other = next((device for n, device in networks.items() if n.version == own.version and n.overlaps(own)), "")
            if other:
                yield (
                    f"{where}.address",
                    f"{address} is in the subnet of {other}: each rail needs its own, or replies leave through the wrong rail",
                )
            networks[own] = rail["device"]


def _address_problem(address: str, gateway: str) -> Problem | None:
    if not address:
        return ("gateway", f"{gateway} without an address") if gateway else None
    if "/" not in address:
        return "address", f"{address} has no prefix length"
    try:
        own, hop = ipaddress.ip_interface(address), ipaddress.ip_address(gateway or address.partition("/")[0])
        # A link-local next hop of IPv6 is looked up on the interface of its route.
        inside = hop in own.network or (own.version == hop.version == 6 and hop.is_link_local and "%" not in gateway)  # noqa: PLR2004
    except ValueError as e:
        return "address", str(e)
    return None if inside else ("gateway", f"{gateway} is not in {own.network}")


def _list(priorities: Any) -> str:
    return ", ".join(str(p) for p in sorted(priorities)) or "none"


def problem_lines(variables: Mapping[str, Any]) -> list[str]:
    """The contradictions as lines, for the role.

    Args:
        variables: the role's variables by name.
    """
    return [f"{where}: {what}" for where, what in contradictions(variables)]


def settings(variables: Mapping[str, Any]) -> dict[str, Any]:
    """The settings file of the script on the node, with the types that it expects.

    Args:
        variables: the role's variables by name.
    """
    blank: dict[str, Any] = {"port": 1, "interface": "", "address": "", "gateway": ""}
    typed: dict[str, Any] = {name: int(variables[f"roce_{name}"]) for name in _NUMBERS}
    typed |= {name: [int(n) for n in variables[f"roce_{name}"]] for name in _LISTS}
    typed |= {name: variables[f"roce_{name}"] for name in _PLAIN}
    typed["rails"] = [{**blank, **r, "rail": int(r["rail"]), "port": int(r.get("port", 1))} for r in variables["roce_rails"]]
    return typed


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Any]:
        """Filter name -> function."""
        return {"roce_problems": problem_lines, "roce_settings": settings}
