"""What the trials of `python -m culprits` measure: fleets over nights, and the judge at full size."""

from __future__ import annotations

import math
import resource
import time
from dataclasses import replace
from random import Random
from typing import Any

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.planning.gate_plan import plan_again, plan_gates
from clusterctl.model.gate_result import Outcome, RawRecord
from culprits.fleet import Fleet, night_of, records_of

NOISE = 0.03
JUDGED = {"nodes": 2048, "rails": 8}


def _suspects_at_most(nodes: int, bad: int) -> float:
    """The expected number of suspects and three standard deviations of those that are healthy.

    A healthy one has no proof after three meetings, each low by chance or by a bad partner, or is low by chance with two of three partners that are proven.
    """
    chance = (NOISE + bad / nodes) ** 3 + 3 * NOISE**2
    return bad + nodes * chance + 3 * math.sqrt(nodes * chance)


def fleets_over_nights(nodes: int, bad: int, fleets: int, hides: float, nights: int) -> dict[str, Any]:
    """The sums over some fleets; a device is found if it was marked faulty in one of the nights, and wrongly so in any."""
    totals = {"bad": 0, "found": 0, "wrong": 0, "nights": 0, "runs": 0, "rounds": 0, "suspects": 0, "found_first_night": 0}
    for number in range(fleets):
        chosen = Random(f"{nodes} {bad} {number}").sample(range(nodes), bad)  # noqa: S311 a simulation
        fleet = Fleet(nodes, bad=frozenset(f"n{i}" for i in chosen), noise=NOISE, hides=hides)
        subjects = fleet.subjects()
        found: set[str] = set()
        wrong: set[str] = set()
        for night in range(nights):
            one = night_of(fleet, subjects, f"fleet-{number}-night-{night}")
            found |= one.marked_faulty & fleet.bad
            wrong |= one.marked_faulty - fleet.bad
            totals["found_first_night"] += len(found) if night == 0 else 0
            totals["nights"] += 1
            totals["runs"] += one.runs
            totals["suspects"] += one.suspects
            totals["rounds"] = max(totals["rounds"], one.rounds)
        totals["bad"] += len(fleet.bad)
        totals["found"] += len(found)
        totals["wrong"] += len(wrong)
    marked_faulty = totals["found"] + totals["wrong"]
    return {
        "nodes": nodes,
        "faults": bad,
        "fleets": fleets,
        "noise": NOISE,
        "hidden_share": hides,
        "nights": nights,
        "recall": totals["found"] / totals["bad"],
        "recall_first_night": totals["found_first_night"] / totals["bad"],
        "precision": totals["found"] / marked_faulty if marked_faulty else 1.0,
        "healthy_marked_faulty": totals["wrong"],
        "rounds": totals["rounds"],
        "runs_per_night": totals["runs"] / totals["nights"],
        "bound_per_night": 3 * nodes / 2 + 2 * _suspects_at_most(nodes, bad),
        "suspects_per_night": totals["suspects"] / totals["nights"],
        "runs_of_all_pairs": nodes * (nodes - 1) // 2,
    }


def judged_at_full_size(_: int) -> dict[str, Any]:
    """The time of one core that planning the second stage of a large fleet and judging both take, and the memory of the process with all its records."""
    bad = frozenset({"n17", "n900"})
    fleet = Fleet(JUDGED["nodes"], rails=JUDGED["rails"], bad=bad)
    subjects = fleet.subjects()
    records = _as_read(records_of(fleet, plan_gates(subjects, "standard", ("rdma_pair",), seed="large"), "large"))
    began, wall = time.process_time(), time.monotonic()
    second = plan_again(subjects, records, "standard", ("rdma_pair",), seed="large")
    spent, spent_wall = time.process_time() - began, time.monotonic() - wall
    records += _as_read(records_of(fleet, second, "large-again"))
    began, wall = time.process_time(), time.monotonic()
    results = judge(subjects, records, level="standard", gates=("rdma_pair",))
    spent, spent_wall = spent + time.process_time() - began, spent_wall + time.monotonic() - wall
    gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    return {
        **JUDGED,
        "records": len(records),
        "results": len(results),
        "bad": sorted(bad),
        "marked_faulty": sorted({r.node for r in results if r.outcome is Outcome.FAIL}),
        "cpu_s": round(spent, 1),
        "wall_s": round(spent_wall, 1),
        "peak_gib": round(gib, 2),
    }


def _as_read(records: list[RawRecord]) -> list[RawRecord]:
    """As files are read: no two records share their output."""
    return [replace(r, stdout=f"{r.stdout}\n") for r in records]
