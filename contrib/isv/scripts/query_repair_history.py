"""BFX02-03: what was wrong with nodes, what was replaced, and when they came back."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from site_answers import Option, Site, machine_id, report

if TYPE_CHECKING:
    import argparse

_REPAIR = frozenset({"quarantined", "maintenance", "rma"})


def read(site: Site, given: argparse.Namespace) -> dict[str, Any]:
    """Of one machine, or of those whose state changed last: each costs a call of its own."""
    nodes = sorted(site.nodes(), key=lambda n: n["since"], reverse=True)
    if given.machine_id:
        name = site.name_of(given.machine_id)
        nodes = [n for n in nodes if n["name"] == name]
    records = [{"machine_id": machine_id(n), "entries": _entries(site, n["name"])} for n in nodes[: int(given.newest)]]
    return {"history_queryable": True, "records": records}


def _entries(site: Site, name: str) -> list[dict[str, str]]:
    story = site.ask("history", name)
    steps = [
        {"status": "opened" if s["to"] in _REPAIR else "closed", "state": s["to"], "message": s["reason"], "updated_at": s["at"]}
        for s in story["transitions"]
        if s["to"] in _REPAIR or s["from"] in _REPAIR
    ]
    replaced = [
        {
            "status": "part replaced",
            "part": p["name"],
            "serial": p["serial"],
            "message": f"{p['name']} {p['serial']} was replaced",
            "run_id": p["run_id"],
        }
        for p in story["replaced_parts"]
    ]
    return [*steps, *replaced]


if __name__ == "__main__":
    options = (Option("machine-id", "name or serial of one node"), Option("newest", "how many nodes at most", "20"))
    sys.exit(report("query_repair_history", __doc__, read, *options))
