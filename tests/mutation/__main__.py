"""`python -m mutation`: runs the mutation test on new lab nodes, writes build/mutation.json and prints the score."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from mutation.mutation_rounds import Score, run_mutations, summary
from mutation.node_kinds import NodeKind, load_kinds
from mutation.node_under_test import NodeUnderTest
from mutation.rules import Catalogue, mutation_catalogue
from support.demo_rack import DemoRack
from support.lab_ssh import LabSsh
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass
class Progress:
    """The results so far.

    Attributes:
        out: file for the results.
        began: start time by the monotonic clock.
        known: kind of node -> (check, expected value) of the settings that were changed on it.
    """

    out: Path
    began: float
    scores: list[Score]
    known: dict[str, frozenset[tuple[str, str]]] = field(default_factory=dict)

    def log(self, text: str) -> None:
        """Print one line of progress."""
        print(f"[{time.monotonic() - self.began:5.0f}s] {text}", file=sys.stderr, flush=True)

    def save(self, *current: Score) -> None:
        """Write the results so far."""
        self.out.parent.mkdir(parents=True, exist_ok=True)
        document = summary([*self.scores, *current]) | {"duration_s": round(time.monotonic() - self.began)}
        self.out.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def main() -> int:
    """Run the test. Returns 0 if every change was detected and repaired and there was no false finding."""
    kinds = load_kinds()
    args = _arguments(sorted(kinds))
    progress = Progress(args.out, time.monotonic(), [])
    selected = {*(args.kind or (n for n in kinds if n not in args.look)), *args.look}
    for number, name in enumerate(n for n in kinds if n in selected):
        rack = DemoRack(args.site.resolve() / name, args.rack + number)
        progress.scores += _test_node(name, kinds[name], rack, args, progress)
        progress.save()
    _print(progress.scores, args.out)
    return 1 if any(score.missed or score.false_findings or score.changed_again for score in progress.scores) else 0


def _test_node(name: str, kind: NodeKind, rack: DemoRack, args: argparse.Namespace, progress: Progress) -> list[Score]:
    layer = kind.write_layer(rack, rack.site / "kind" / "hosts.json")
    rack.write_site(str(layer.parent))
    rack.lab_up("--nodes", str(kind.nodes), "--hardware", kind.hardware, "--healthy")
    try:
        if kind.prepare and not args.provisioned:
            for slot in range(1, kind.nodes + 1):
                LabSsh(rack.state_dir)(rack.node(slot), kind.prepare)
        if not args.provisioned:
            progress.log(f"{name}: provision {rack.target}")
            # --force, because nodes of an earlier run count as admitted.
            done = rack.clusterctl("provision", rack.target, "--yes", "--force")
            if done.code:
                raise SystemExit(done.out + done.err)
        node = _node_under_test(kind, rack, layer.parent)
        if name in args.look:
            progress.known[name] = mutation_catalogue(node.findings()).expectations
            return []
        return [_measure(name, kind, node, args, progress)]
    finally:
        if not args.keep:
            rack.clusterctl("lab", "down", rack.target)


def _node_under_test(kind: NodeKind, rack: DemoRack, layer: Path) -> NodeUnderTest:
    layers = (ROOT / "inventory" / "common", ROOT / "inventory" / "lab", rack.state_dir / "lab" / "hosts", layer)
    return NodeUnderTest(layers, rack.state_dir, rack.node(1), rack.site / "ansible", rack.target if kind.together else "")


def _measure(name: str, kind: NodeKind, node: NodeUnderTest, args: argparse.Namespace, progress: Progress) -> Score:
    if args.provisioned and node.bad():
        progress.log(f"repaired changes of an earlier run: {', '.join(node.repair().ran)}")
    whole = mutation_catalogue(node.findings())
    progress.known[name] = whole.expectations
    everything = whole.without_known(progress.known.get(kind.like, frozenset()))
    selected = tuple(m for m in everything.mutations if _is_selected(m.check, args.only))
    without = tuple(c for c in everything.without if _is_selected(c, args.only))
    false = list(node.bad())
    for check in false:
        progress.log(f"finding on a freshly provisioned node: {check}")
    again = node.again()
    if again:
        progress.log(f"changed by a second run: {', '.join(again)}")
    score = run_mutations(name, node, Catalogue(selected, everything.exempt, without, everything.same), progress.log, progress.save)
    score.changed_again = again
    score.false_findings = list(dict.fromkeys([*false, *score.false_findings]))
    return score


def _is_selected(check: str, only: Sequence[str]) -> bool:
    return not only or any(fnmatch(check, pattern) for pattern in only)


def _print(scores: Sequence[Score], out: Path) -> None:
    for score in scores:
        data = score.to_json()
        print(f"mutation, node {score.kind} (simulated hardware): {data['settings']} settings, {data['detected']} detected, ", end="")
        print(f"{data['repaired']} repaired, {data['false_findings']} false findings, {len(score.exempt)} exempt with a reason", end="")
        print(f", {len(score.same)} already tested on another node, changed by a second run: {', '.join(score.changed_again) or 'nothing'}")
        for check in data["missed"]:
            print(f"  missed: {check}")
    print(f"written to {out}")


def _arguments(known: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutation", description=__doc__)
    parser.add_argument("--kind", action="append", choices=known, help="kind of node to test; may be repeated; default: all")
    parser.add_argument(
        "--look", action="append", choices=known, default=[], help="kind that other kinds refer to: only read its settings; may be repeated"
    )
    parser.add_argument("--rack", type=int, default=34, help="number of the first lab rack; each kind of node uses the next one")
    parser.add_argument("--site", type=Path, default=ROOT / "build" / "mutation", help="folder for sites and their state")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutation.json")
    parser.add_argument("--only", action="append", default=[], help="pattern of check ids to test; may be repeated")
    parser.add_argument("--provisioned", action="store_true", help="use nodes that an earlier run provisioned and kept")
    parser.add_argument("--keep", action="store_true", help="leave the lab running")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
