"""`python -m culprits`: how well pair gates find bad devices, uplinks and spines, by size and number of faults; writes build/culprits.json.

Exits 1 if a round too many was needed, a healthy device was marked faulty more often than once in 10,000, too few bad ones were found, or a leaf or spine is
named that is not bad.
"""

from __future__ import annotations

import json
import math
import sys
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from culprits.agents import on_real_agents
from culprits.trials import fleets_over_nights, judged_at_full_size
from culprits.uplink_trials import LAYERS, uplinks_over_nights
from support.roles import ROOT

# Nodes, bad ones among them, fleets. At most one in ten is bad, the bound of the second stage.
_CASES = ((64, 1, 10), (64, 6, 10), (256, 1, 5), (256, 16, 5), (1024, 16, 2), (1024, 64, 2), (2048, 1, 1), (2048, 16, 1), (2048, 64, 1))
_HIDES, _NIGHTS = 0.1, 3
_ROUNDS, _RECALL, _INTERMITTENT = 6, 0.99, 0.95
_JUDGE_S, _JUDGE_GIB = 30.0, 1.0
# A bad uplink or spine is named in so many nights, and a device that is healthy is marked faulty or could not be judged no more often than this.
_UPLINK_NODES, _UPLINK_NIGHTS, _NAMED, _HELD = 256, 20, 0.7, 1e-3


def main() -> int:
    """Run all. Returns the exit status."""
    with get_context("spawn").Pool(2) as pool:
        jobs = [(*case, 0.0, 1) for case in _CASES] + [(*case, _HIDES, _NIGHTS) for case in _CASES]
        steady_and_hidden = pool.starmap(fleets_over_nights, jobs, chunksize=1)
        uplinks = pool.starmap(uplinks_over_nights, [(kind, _UPLINK_NODES, _UPLINK_NIGHTS) for kind in LAYERS], chunksize=1)
    with get_context("spawn").Pool(1) as pool:
        (large,) = pool.map(judged_at_full_size, [0])
    with TemporaryDirectory() as folder:
        agents = on_real_agents(Path(folder))
    steady, hidden = steady_and_hidden[: len(_CASES)], steady_and_hidden[len(_CASES) :]
    document = {
        "schema_version": 1,
        "simulated": True,
        "steady": steady,
        "intermittent": hidden,
        "rounds_max": max(row["rounds"] for row in steady_and_hidden),
        "recall": _share(steady, "recall"),
        "recall_intermittent_three_nights": _share(hidden, "recall"),
        "healthy_marked_faulty": sum(row["healthy_marked_faulty"] for row in steady_and_hidden),
        "healthy_judged": sum((row["nodes"] - row["faults"]) * row["fleets"] * row["nights"] for row in steady_and_hidden),
        "uplinks": uplinks,
        "judging": large,
        "agents": agents,
    }
    problems = _problems(document)
    out = ROOT / "build" / "culprits.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(document | {"problems": problems}, indent=1) + "\n", encoding="utf-8")
    print("\n".join(problems) or f"recall {document['recall']:.3f}, intermittent {document['recall_intermittent_three_nights']:.3f}, {out}")
    return 1 if problems else 0


def _share(rows: list[dict[str, Any]], key: str) -> float:
    bad = sum(row["faults"] * row["fleets"] for row in rows)
    return math.fsum(row[key] * row["faults"] * row["fleets"] for row in rows) / float(bad)


def _problems(document: dict[str, Any]) -> list[str]:
    rows = [*document["steady"], *document["intermittent"]]
    found = [f"{row['nodes']} nodes: {row['rounds']} rounds" for row in rows if row["rounds"] > _ROUNDS]
    found += [f"{row['nodes']} nodes: more runs than the bound" for row in rows if row["runs_per_night"] > row["bound_per_night"]]
    if document["healthy_marked_faulty"] * 10_000 > document["healthy_judged"]:
        found.append(f"{document['healthy_marked_faulty']} healthy devices of {document['healthy_judged']} marked faulty")
    for key, least in (("recall", _RECALL), ("recall_intermittent_three_nights", _INTERMITTENT)):
        found += [f"{key} {document[key]:.3f}"] if document[key] < least else []
    for row in document["uplinks"]:
        found += [f"{row['kind']}: {row['wrong']} nights in which another part is named"] if row["wrong"] else []
        found += (
            [f"{row['kind']}: named in {row['named']} nights"] if row["kind"] != "healthy" and row["named"] < _NAMED * row["nights"] else []
        )
        held = row["healthy_marked_faulty"] + row["healthy_could_not_run"]
        found += [f"{row['kind']}: {held} healthy devices held"] if held > _HELD * row["judged"] else []
    large, agents = document["judging"], document["agents"]
    if large["cpu_s"] > _JUDGE_S or large["peak_gib"] > _JUDGE_GIB:
        found.append(f"judging took {large['cpu_s']} s and {large['peak_gib']} GiB")
    found += [] if large["marked_faulty"] == large["bad"] else [f"of the large fleet: {large['marked_faulty']} marked faulty"]
    found += [] if agents["marked_faulty"] == agents["bad"] and agents["rounds"] <= _ROUNDS else [f"real agents: {agents}"]
    return found


if __name__ == "__main__":
    sys.exit(main())
