"""`python -m mutation`: the mutation test on a lab node of its own; writes build/mutation.json and prints the score."""

from __future__ import annotations

import argparse
import json
import sys
import time
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from mutation.bench import Bench
from mutation.engine import Score, run
from mutation.rules import Catalogue, catalogue
from support.demo_rack import DemoRack
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

_LEFT_ALONE = (0, 7)  # a lone node is quarantined for want of a partner to measure with; its state is as declared


def main() -> int:
    """0 if every setting is detected and repaired and nothing is told falsely."""
    given = _arguments()
    began = time.monotonic()

    def tell(text: str) -> None:
        print(f"[{time.monotonic() - began:5.0f}s] {text}", file=sys.stderr, flush=True)

    def save(score: Score) -> None:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(score.to_json() | {"duration_s": round(time.monotonic() - began)}, indent=2)
        given.out.write_text(text + "\n", encoding="utf-8")

    rack = DemoRack(given.site, given.rack)
    rack.write_site()
    rack.ok("lab", "up", rack.target, "--nodes", "1", "--healthy")
    try:
        if not given.provisioned:
            tell(f"provision {rack.target}")
            done = rack.clusterctl("provision", rack.target, "--yes", "--level", "quick")
            if done.code not in _LEFT_ALONE:
                print(done.err, file=sys.stderr)
                return 1
        score = _measure(rack, given.only, tell, save, provisioned=given.provisioned)
    finally:
        if not given.keep:
            rack.clusterctl("lab", "down", rack.target)
    save(score)
    _print(score, given.out)
    return 1 if score.missed or score.false_findings else 0


def _measure(rack: DemoRack, only: list[str], tell: Callable[[str], None], save: Callable[[Score], None], *, provisioned: bool) -> Score:
    layers = (ROOT / "inventory" / "common", ROOT / "inventory" / "lab", rack.state_dir / "lab" / "hosts")
    bench = Bench(layers, rack.state_dir, rack.node(1), rack.site / "ansible")
    if provisioned and bench.bad():
        tell(f"repair what is left of before: {', '.join(bench.repair().ran)}")
    everything = catalogue(bench.findings())
    chosen = tuple(m for m in everything.mutations if not only or any(fnmatch(m.check, p) for p in only))
    without = tuple(c for c in everything.without if not only)
    false = list(bench.bad())
    for check in false:
        tell(f"told on a fresh node: {check}")
    score = run(bench, Catalogue(chosen, everything.exempt, without), tell, save)
    score.false_findings = list(dict.fromkeys([*false, *score.false_findings]))
    return score


def _print(score: Score, out: Path) -> None:
    data = score.to_json()
    total = data["settings"]
    print(f"mutation (simulated hardware, {score.profile}): {total} settings, {data['detected']} detected, {data['repaired']} repaired,")
    print(f"  {data['false_findings']} false findings, {len(data['missed'])} missed, {len(score.exempt)} exempt with a reason: {out}")
    for check in data["missed"]:
        print(f"  missed: {check}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutation", description=__doc__)
    parser.add_argument("--rack", type=int, default=34, help="number of the lab rack")
    parser.add_argument("--site", type=Path, default=ROOT / "build" / "mutation", help="folder for site and state")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutation.json")
    parser.add_argument("--only", action="append", default=[], help="glob of check ids; repeat")
    parser.add_argument("--provisioned", action="store_true", help="the node was provisioned before, and kept")
    parser.add_argument("--keep", action="store_true", help="leave the lab running")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
