"""Whether a role may change the port of an adapter: not one that carries an address nobody declared, a default route or our SSH connection.

By name alone a role takes management and storage ports for ports of the fabric: on DGX H100, mlx5_1, 2, 7 and 8 are these (DGX H100 user guide,
network ports). Without the operator's consent such a port stays as it is, because after the change the node may be out of reach.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_SSH_WORDS = 4
_MAIN = "254"
_OPEN_VSWITCH = "ovs-system"


class PortUse(NamedTuple):
    """What a port carries. `interface` is that of the port, or a VLAN, bond or bridge over it."""

    device: str
    interface: str
    address: str
    reason: str


def uses(
    document: Mapping[str, Any],
    devices: Sequence[str],
    declared: Sequence[Mapping[str, Any]],
    consent: Sequence[str],
    leases_end: bool = False,
) -> list[dict[str, str]]:
    """What the ports of `devices` carry besides that which is ours; ports in `consent` are left out.

    Args:
        document: what roles/shared/files/port_use.py printed.
        devices: RDMA devices that a role is about to change.
        declared: rows of roce_rails and infiniband_ipoib; their addresses are ours, as are those of the settings files on the node.
        consent: RDMA devices that the operator gave up for this change.
        leases_end: the operator agreed that DHCP ends on these ports, so what it gave does not count, except the only default route.
    """
    rows = [*declared, *_rows(document)]
    ours = _own_addresses(rows)
    routes = [route for route in document["default_routes"] if not _is_own_route(route, _own_tables(document), rows)]
    found: list[PortUse] = []
    for device in dict.fromkeys(devices):
        port = document["devices"].get(device)
        if port is None or device in consent:
            continue
        named = [row["interface"] for row in declared if row["device"] == device and row.get("interface")]
        names = _over([*port["interfaces"], *named], document["interfaces"])
        rows_here = [row for row in document["interfaces"] if row.get("ifname") in names]
        found += _switched(device, rows_here)
        found += _addresses(device, [_without_leases(row) for row in rows_here] if leases_end else rows_here, ours)
        found += _routes(device, names, _lasting(routes) if leases_end else routes)
        found += _ssh(device, names, document)
    return [use._asdict() for use in found]


def _over(interfaces: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> set[str]:
    """These interfaces, and all that lie over them: their bond or bridge, VLANs and other children."""
    above: dict[str, set[str]] = {}
    for row in rows:
        name = str(row.get("ifname"))
        if row.get("link"):
            above.setdefault(str(row["link"]), set()).add(name)
        if row.get("master"):
            above.setdefault(name, set()).add(str(row["master"]))
    known: set[str] = set()
    todo = list(interfaces)
    while todo:
        name = todo.pop()
        if name not in known:
            known.add(name)
            todo += above.get(name, ())
    return known


def _switched(device: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[PortUse]:
    """Ports of Open vSwitch: their master is the datapath, and which bridge with which addresses they are in is in its own database."""
    for row in rows:
        if row.get("master") == _OPEN_VSWITCH:
            name = row["ifname"]
            yield PortUse(device, name, "", f"{name} is a port of Open vSwitch, whose bridges may carry the node's addresses")


def _addresses(device: str, rows: Sequence[Mapping[str, Any]], ours: set[Any]) -> Iterator[PortUse]:
    for row in rows:
        for entry in row.get("addr_info") or []:
            address = ipaddress.ip_address(entry["local"])
            # The kernel gives every interface one; nobody reaches the node by it, and an SSH connection over it counts of its own.
            if not address.is_link_local and address not in ours:
                shown = f"{address}/{entry['prefixlen']}"
                yield PortUse(device, row["ifname"], shown, f"{row['ifname']} has the address {shown}, which no role declared")


def _without_leases(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, "addr_info": [a for a in row.get("addr_info") or [] if not a.get("dynamic")]}


def _lasting(routes: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The default routes that do not come from DHCP; all of them, if there is no other."""
    return [r for r in routes if r.get("protocol") not in ("dhcp", "ra")] or list(routes)


def _routes(device: str, names: set[str], routes: Sequence[Mapping[str, Any]]) -> Iterator[PortUse]:
    for route in routes:
        for hop in route.get("nexthops") or [route]:
            if hop.get("dev") in names:
                gateway = str(hop.get("gateway") or (hop.get("via") or {}).get("host") or "")
                yield PortUse(
                    device, hop["dev"], gateway, f"a default route leaves through {hop['dev']}{f', to {gateway}' if gateway else ''}"
                )


def _ssh(device: str, names: set[str], document: Mapping[str, Any]) -> Iterator[PortUse]:
    words = document["ssh_connection"].split()
    if len(words) != _SSH_WORDS:
        return
    text, _, zone = words[2].partition("%")
    server = ipaddress.ip_address(text)
    for row in document["interfaces"]:
        here = any(ipaddress.ip_address(a["local"]) == server for a in row.get("addr_info") or []) and zone in ("", row.get("ifname"))
        if here and row.get("ifname") in names:
            yield PortUse(device, row["ifname"], words[2], f"our SSH connection to {words[2]} runs over {row['ifname']}")
            return
    for route in document["ssh_route"]:
        if route.get("dev") in names:
            yield PortUse(device, route["dev"], words[2], f"the answers of our SSH connection from {words[0]} leave through {route['dev']}")


def _rows(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rails and IPoIB interfaces that the roles configured on this node earlier."""
    settings = document["settings"]
    return [*(settings["roce"].get("rails") or []), *(settings["infiniband"].get("ipoib") or [])]


def _own_addresses(rows: Sequence[Mapping[str, Any]]) -> set[Any]:
    return {ipaddress.ip_interface(row["address"]).ip for row in rows if row.get("address")}


def _own_tables(document: Mapping[str, Any]) -> set[str]:
    """The routing tables of the rails, which the role roce made."""
    roce = document["settings"]["roce"]
    base = roce.get("table_base") or 0
    return {str(base + rail["rail"]) for rail in roce.get("rails") or []} if base else set()


def _is_own_route(route: Mapping[str, Any], tables: set[str], rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a default route is that of a rail: in its table, or, where the settings file is gone, to its gateway and not in the main table."""
    table = str(route.get("table", _MAIN))
    return table in tables or (table != _MAIN and route.get("gateway") in [row["gateway"] for row in rows if row.get("gateway")])


def refusals(found: Sequence[Mapping[str, str]], changes: Sequence[str] | None = None) -> list[str]:
    """The uses as text; with `changes`, which start with a device, only those of devices that one of them names.

    Args:
        found: what `uses` found.
        changes: lines that start with a device, which is to change; none: all of `found`.
    """
    named = {line.split(maxsplit=1)[0] for line in changes or [] if line.strip()}
    return [f"{use['device']}: {use['reason']}" for use in found if changes is None or use["device"] in named]


class FilterModule:
    """The filters of the shared tasks."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filter name -> function."""
        return {"port_uses": uses, "port_use_lines": refusals}
