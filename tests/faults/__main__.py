"""`python -m faults`: every row of tests/cases/faults in a rack, and healthy racks with noise; writes build/faults.json.

Rows that are tried with added gates, and rows of other racks than that of twelve HGX H100 nodes, are counted apart; healthy racks have these gates, too. Arguments name rows: only these are tried, and printed. Exits 1 if a healthy node would be quarantined, or a node whose row must pass, or there are fewer rows or racks than the drill asks for. A row that is not detected is not an error: it is counted.
"""

from __future__ import annotations

import json
import sys
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from faults.rack_kinds import RACK_KINDS
from faults.rows import ADDED_GATES, load_rows
from faults.trials import COUNTED, healthy_rack, tried_twice
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

_LEAST_FAULTS = 60
_USUAL = "hgx_h100"
_SHOWN = ("faults", *COUNTED, "healthy_racks", "false_quarantine")


def main(names: Sequence[str] = ()) -> int:
    """Run all. Returns the exit status."""
    rows = load_rows()
    if names:
        print(json.dumps([tried_twice(row) for row in rows if row.id in names], indent=1))
        return 0
    numbers = [(name, number) for name, kind in RACK_KINDS.items() for number in range(kind.healthy_racks)]
    with get_context("spawn").Pool(2) as pool:
        jobs = pool.map_async(tried_twice, rows, chunksize=1)
        healthy = pool.starmap(healthy_rack, numbers, chunksize=1)
        found = jobs.get()
        pool.close()  # a pool that is left ends its processes by a signal, and what they have below /tmp stays
        pool.join()
    parts = {
        name: _part([row for row in found if row["rack"] == name], [rack for rack in healthy if rack["rack"] == name])
        for name in RACK_KINDS
    }
    document: dict[str, Any] = {
        "schema_version": 1,
        "simulated": True,
        **parts.pop(_USUAL),
        "racks": parts,
        "rows": found,
    }
    problems = [*_too_few(document), *(text for part in (document, *parts.values()) for text in _held(part))]
    out = ROOT / "build" / "faults.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(document | {"problems": problems}, indent=1) + "\n", encoding="utf-8")
    added = _text(document["with_added_gates"], ("faults", *COUNTED))
    lines = [f"{name}: {_text(part, _SHOWN)}" for name, part in parts.items()]
    lines += [f"{name}, in service: {_text(part['in_service'], COUNTED)}" for name, part in (*parts.items(), (_USUAL, document))]
    print("\n".join([*problems, f"with {', '.join(ADDED_GATES)}: {added}", *lines, f"{_text(document, _SHOWN)}; {out}"]))
    return 1 if problems else 0


def _part(found: Sequence[dict[str, Any]], racks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What is counted of the rows and the healthy racks of one kind."""
    faults = [row for row in found if not row["must_pass"]]
    return {
        **_totals([row for row in faults if not row["added_gates"]]),
        "in_service": _totals([{**row, **row["in_service"]} for row in faults if not row["added_gates"]]),
        "with_added_gates": {"gates": ADDED_GATES, **_totals([row for row in faults if row["added_gates"]])},
        "must_pass": len(found) - len(faults),
        "must_pass_held": [row["id"] for row in found if row["must_pass"] and (row["held"] or row["in_service"]["held"])],
        "incidents": sorted({row["incident"] for row in found if row["incident"]}),
        "incidents_detected": sorted({row["incident"] for row in found if row["incident"] and row["detected"]}),
        "healthy_nodes_held_by_rows": sum(len(one["healthy_nodes_held"]) for row in found for one in (row, row["in_service"])),
        "healthy_racks": len(racks),
        "warnings_by_history": sum(rack["by_history"] for rack in racks),
        "false_quarantine": len({text.partition(":")[0] + rack["seed"] for rack in racks for text in rack["held"]}),
        "healthy": racks,
    }


def _text(document: dict[str, Any], names: Sequence[str]) -> str:
    return ", ".join(f"{name} {document[name]}" for name in names)


def _totals(rows: Sequence[dict[str, Any]]) -> dict[str, int]:
    return {
        "faults": len(rows),
        **{key: sum(row[key] for row in rows) for key in COUNTED},
        "below_thresholds": sum(row["below_thresholds"] for row in rows),
        "below_thresholds_detected": sum(row["below_thresholds"] and row["detected"] for row in rows),
    }


def _too_few(document: dict[str, Any]) -> list[str]:
    found = [f"{document['faults']} rows"] if document["faults"] < _LEAST_FAULTS else []
    return found + (
        ["fewer than half of the rows are below today's thresholds"] if 2 * document["below_thresholds"] < document["faults"] else []
    )


def _held(part: dict[str, Any]) -> list[str]:
    held = [f"{rack['seed']}, {text}" for rack in part["healthy"] for text in rack["held"]]
    held += [f"row {name}" for name in part["must_pass_held"]]
    return [f"a healthy node would be quarantined: {text}" for text in held]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
