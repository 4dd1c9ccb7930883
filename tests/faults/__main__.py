"""`python -m faults`: every row of tests/cases/faults in a rack, and healthy racks with noise; writes build/faults.json.

Exits 1 if a healthy node would be quarantined, or there are fewer rows or racks than the drill asks for. A row that is not detected is no error: it is counted.
"""

from __future__ import annotations

import json
import sys
from multiprocessing import get_context
from typing import Any

from faults.rows import load_rows
from faults.trials import healthy_rack, tried
from support.roles import ROOT

_LEAST_FAULTS, _RACKS = 60, 20
_COUNTED = ("detected", "held", "right_component", "right_action", "named_action")


def main() -> int:
    """Run all. Returns the exit status."""
    rows = load_rows()
    with get_context("spawn").Pool(2) as pool:
        jobs = pool.map_async(tried, rows, chunksize=1)
        racks = pool.map(healthy_rack, range(_RACKS), chunksize=1)
        found = jobs.get()
    document: dict[str, Any] = {
        "schema_version": 1,
        "simulated": True,
        "faults": len(found),
        **{key: sum(row[key] for row in found) for key in _COUNTED},
        "below_thresholds": sum(row["below_thresholds"] for row in found),
        "below_thresholds_detected": sum(row["below_thresholds"] and row["detected"] for row in found),
        "incidents": sorted({row["incident"] for row in found if row["incident"]}),
        "incidents_detected": sorted({row["incident"] for row in found if row["incident"] and row["detected"]}),
        "healthy_nodes_held_by_rows": sum(len(row["healthy_nodes_held"]) for row in found),
        "healthy_racks": len(racks),
        "false_quarantine": len({text.partition(":")[0] + rack["seed"] for rack in racks for text in rack["held"]}),
        "healthy": racks,
        "rows": found,
    }
    problems = _problems(document)
    out = ROOT / "build" / "faults.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(document | {"problems": problems}, indent=1) + "\n", encoding="utf-8")
    totals = ", ".join(f"{key} {document[key]}" for key in ("faults", *_COUNTED, "healthy_racks", "false_quarantine"))
    print("\n".join([*problems, f"{totals}; {out}"]))
    return 1 if problems else 0


def _problems(document: dict[str, Any]) -> list[str]:
    found = [f"{document['faults']} rows"] if document["faults"] < _LEAST_FAULTS else []
    found += ["fewer than half of the rows are below today's thresholds"] if 2 * document["below_thresholds"] < document["faults"] else []
    held = [f"{rack['seed']}, {text}" for rack in document["healthy"] for text in rack["held"]]
    return found + [f"a healthy node would be quarantined: {text}" for text in held]


if __name__ == "__main__":
    sys.exit(main())
