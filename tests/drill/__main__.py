"""`python -m drill`: lets a node, or the controller, fail in the middle of runs, writes build/drill.json and prints what was seen."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from drill import controller, large_group
from drill.faults import FAULTS
from drill.rounds import NODES, PHASES, Round, play
from support.demo_rack import DemoRack
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def main() -> int:
    """Run it. Returns 0 if nothing was wrong."""
    parser = argparse.ArgumentParser(prog="python -m drill", description=__doc__)
    parser.add_argument("--fault", action="append", choices=[*FAULTS, controller.NAME, large_group.NAME], help="only these (repeat)")
    parser.add_argument("--phase", action="append", choices=sorted(PHASES), help="only in these (repeat)")
    parser.add_argument("--rack", type=int, default=98, help="number of the lab rack")
    parser.add_argument("--site", type=Path, default=ROOT / "build" / "drill", help="folder of the site and its state")
    parser.add_argument("--out", type=Path, default=Path("build/drill.json"))
    args = parser.parse_args()
    chosen = args.fault or [*FAULTS, controller.NAME, large_group.NAME]
    rounds = []
    for played in _rounds(args, [name for name in chosen if name != large_group.NAME], large=large_group.NAME in chosen):
        rounds.append(played)
        print(json.dumps(asdict(played)), flush=True)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps({"nodes": "containers", "gpus": "simulated", "rounds": [asdict(r) for r in rounds]}, indent=2) + "\n")
    return 1 if any(r.wrong for r in rounds) else 0


def _rounds(args: argparse.Namespace, faults: Sequence[str], *, large: bool) -> Iterator[Round]:
    if faults:
        rack = DemoRack(args.site, args.rack)
        rack.write_site()
        try:
            rack.lab_up("--nodes", str(NODES))
            rack.ok("provision", rack.target, "--yes")
            for fault in faults:
                if fault == controller.NAME:
                    yield controller.play_killed_controller(rack)
                else:
                    yield from (play(rack, fault, phase) for phase in args.phase or PHASES)
        finally:
            rack.clusterctl("lab", "down", rack.target)
    if large:
        with tempfile.TemporaryDirectory() as folder:
            yield large_group.play_large_group(Path(folder))


if __name__ == "__main__":
    sys.exit(main())
