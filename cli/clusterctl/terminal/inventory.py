"""Racks and nodes on stdout."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from clusterctl.terminal import out

if TYPE_CHECKING:
    from clusterctl.model.topology import Host, Topology

_COLUMNS = ("RACK", "SLOT", "NODE", "PROFILE", "ROW", "SU", "LEAF", "NVLINK DOMAIN")


def topology(output: str, found: Topology) -> None:
    """One line per node, by rack and slot."""
    hosts = sorted(found.hosts, key=lambda h: (h.place.rack, h.place.slot, h.name))
    if output == "table":
        rows = [
            _row(h.place.rack, str(h.place.slot or ""), h.name, h.profile, h.place.row, h.place.su, h.place.leaf, h.place.nvlink_domain)
            for h in hosts
        ]
        out.table(_COLUMNS, rows)
        return
    nodes = [_json(h) for h in hosts]
    names = {h.name for h in hosts}
    groups = {g: [n for n in members if n in names] for g, members in found.groups.items()}
    out.emit(output, "inventory", {"nodes": nodes, "groups": {g: members for g, members in groups.items() if members}})


def _json(host: Host) -> dict[str, object]:
    """A node of the document. Schema: docs/reference/schemas/inventory.schema.json."""
    return {
        "name": host.name,
        "profile": host.profile,
        "groups": list(host.groups),
        "place": asdict(host.place),
        "address": host.address,
        "bmc_url": host.bmc_url,
        "labels": dict(host.labels),
        "rail_leaves": dict(host.rail_leaves),
    }


def _row(*cells: str) -> tuple[str, ...]:
    return tuple(c or "-" for c in cells)
