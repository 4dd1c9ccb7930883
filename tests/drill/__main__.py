"""`python -m drill`: lets a node of a lab rack fail in the middle of runs, writes build/drill.json and prints what was seen."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from drill.controller import NAME, play_killed_controller
from drill.faults import FAULTS
from drill.rounds import NODES, PHASES, play
from support.demo_rack import DemoRack
from support.roles import ROOT


def main() -> int:
    """Run it. Returns 0 if nothing was wrong."""
    parser = argparse.ArgumentParser(prog="python -m drill", description=__doc__)
    parser.add_argument("--fault", action="append", choices=sorted([*FAULTS, NAME]), help="only these (repeat)")
    parser.add_argument("--phase", action="append", choices=sorted(PHASES), help="only in these (repeat)")
    parser.add_argument("--rack", type=int, default=98, help="number of the lab rack")
    parser.add_argument("--site", type=Path, default=ROOT / "build" / "drill", help="folder of the site and its state")
    parser.add_argument("--out", type=Path, default=Path("build/drill.json"))
    args = parser.parse_args()
    rack = DemoRack(args.site, args.rack)
    rack.write_site()
    rounds = []
    try:
        rack.lab_up("--nodes", str(NODES))
        rack.ok("provision", rack.target, "--yes")
        for fault in args.fault or [*FAULTS, NAME]:
            for phase in args.phase or PHASES if fault in FAULTS else ["group"]:
                rounds.append(play(rack, fault, phase) if fault in FAULTS else play_killed_controller(rack))
                print(json.dumps(asdict(rounds[-1])), flush=True)
    finally:
        rack.clusterctl("lab", "down", rack.target)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps({"nodes": "containers", "gpus": "simulated", "rounds": [asdict(r) for r in rounds]}, indent=2) + "\n")
    return 1 if any(r.wrong for r in rounds) else 0


if __name__ == "__main__":
    sys.exit(main())
