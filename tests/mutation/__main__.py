"""`python -m mutation`: the mutation test on lab nodes of its own; writes build/mutation.json and prints the score."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from mutation.bench import Bench
from mutation.engine import Score, run, total
from mutation.kinds import Kind, kinds
from mutation.rules import Catalogue, catalogue
from support.demo_rack import DemoRack
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass
class Told:
    """Who watches, where the result is kept, and what each node had changed with which expectation."""

    out: Path
    began: float
    scores: list[Score]
    known: dict[str, frozenset[tuple[str, str]]] = field(default_factory=dict)

    def say(self, text: str) -> None:
        """One line of progress."""
        print(f"[{time.monotonic() - self.began:5.0f}s] {text}", file=sys.stderr, flush=True)

    def save(self, *current: Score) -> None:
        """Everything so far."""
        self.out.parent.mkdir(parents=True, exist_ok=True)
        document = total([*self.scores, *current]) | {"duration_s": round(time.monotonic() - self.began)}
        self.out.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def main() -> int:
    """0 if every setting is detected and repaired and nothing is told falsely."""
    known = kinds()
    given = _arguments(sorted(known))
    told = Told(given.out, time.monotonic(), [])
    chosen = {*(given.kind or (n for n in known if n not in given.look)), *given.look}
    for number, name in enumerate(n for n in known if n in chosen):
        rack = DemoRack(given.site.resolve() / name, given.rack + number)
        told.scores += _one_node(name, known[name], rack, given, told)
        told.save()
    _print(told.scores, given.out)
    return 1 if any(score.missed or score.false_findings or score.changed_again for score in told.scores) else 0


def _one_node(name: str, kind: Kind, rack: DemoRack, given: argparse.Namespace, told: Told) -> list[Score]:
    layer = kind.write_layer(rack, rack.site / "kind" / "hosts.json")
    rack.write_site(str(layer.parent))
    rack.ok("lab", "up", rack.target, "--nodes", str(kind.nodes), "--hardware", kind.hardware, "--healthy")
    try:
        if not given.provisioned:
            told.say(f"{name}: provision {rack.target}")
            # --force: nodes of an earlier run count as admitted.
            done = rack.clusterctl("provision", rack.target, "--yes", "--force")
            if done.code:
                raise SystemExit(done.out + done.err)
        bench = _bench(kind, rack, layer.parent)
        if name in given.look:
            told.known[name] = catalogue(bench.findings()).expectations
            return []
        return [_measure(name, kind, bench, given, told)]
    finally:
        if not given.keep:
            rack.clusterctl("lab", "down", rack.target)


def _bench(kind: Kind, rack: DemoRack, layer: Path) -> Bench:
    layers = (ROOT / "inventory" / "common", ROOT / "inventory" / "lab", rack.state_dir / "lab" / "hosts", layer)
    return Bench(layers, rack.state_dir, rack.node(1), rack.site / "ansible", rack.target if kind.together else "")


def _measure(name: str, kind: Kind, bench: Bench, given: argparse.Namespace, told: Told) -> Score:
    if given.provisioned and bench.bad():
        told.say(f"repair what is left of before: {', '.join(bench.repair().ran)}")
    whole = catalogue(bench.findings())
    told.known[name] = whole.expectations
    everything = whole.besides(told.known.get(kind.like, frozenset()))
    chosen = tuple(m for m in everything.mutations if _is_meant(m.check, given.only))
    without = tuple(c for c in everything.without if _is_meant(c, given.only))
    false = list(bench.bad())
    for check in false:
        told.say(f"told on a fresh node: {check}")
    again = bench.again()
    if again:
        told.say(f"changed by a second run: {', '.join(again)}")
    score = run(name, bench, Catalogue(chosen, everything.exempt, without, everything.same), told.say, told.save)
    score.changed_again = again
    score.false_findings = list(dict.fromkeys([*false, *score.false_findings]))
    return score


def _is_meant(check: str, only: Sequence[str]) -> bool:
    return not only or any(fnmatch(check, pattern) for pattern in only)


def _print(scores: Sequence[Score], out: Path) -> None:
    for score in scores:
        data = score.to_json()
        print(f"mutation, node {score.kind} (simulated hardware): {data['settings']} settings, {data['detected']} detected, ", end="")
        print(f"{data['repaired']} repaired, {data['false_findings']} false findings, {len(score.exempt)} exempt with a reason", end="")
        print(f", {len(score.same)} as on another node, changed by a second run: {', '.join(score.changed_again) or 'nothing'}")
        for check in data["missed"]:
            print(f"  missed: {check}")
    print(f"written to {out}")


def _arguments(known: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutation", description=__doc__)
    parser.add_argument("--kind", action="append", choices=known, help="of the nodes; repeat; default: all")
    parser.add_argument("--look", action="append", choices=known, default=[], help="only look at this kind, which others are like; repeat")
    parser.add_argument("--rack", type=int, default=34, help="number of the lab rack of the first node; the next have the next numbers")
    parser.add_argument("--site", type=Path, default=ROOT / "build" / "mutation", help="folder for sites and state")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutation.json")
    parser.add_argument("--only", action="append", default=[], help="glob of check ids; repeat")
    parser.add_argument("--provisioned", action="store_true", help="the nodes were provisioned before, and kept")
    parser.add_argument("--keep", action="store_true", help="leave the lab running")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
