"""`python -m chaos`: kills `provision` at its boundaries, writes build/chaos.json and prints the score."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from chaos.rack import SCENARIOS
from chaos.rounds import Score, chosen, play, prepare


def main() -> int:
    """Run it. Returns 0 if nothing was lost, wrong or left over."""
    parser = argparse.ArgumentParser(prog="python -m chaos", description=__doc__)
    parser.add_argument("--points", type=int, default=0, help="boundaries per scenario (default: all)")
    parser.add_argument("--scenario", action="append", choices=sorted(SCENARIOS), help="only these (repeat)")
    parser.add_argument("--out", type=Path, default=Path("build/chaos.json"))
    args = parser.parse_args()
    began, score, boundaries = time.monotonic(), Score(), {}
    with tempfile.TemporaryDirectory(prefix="clusterctl-chaos-") as folder:
        for name in args.scenario or SCENARIOS:
            scenario = prepare(name, Path(folder))
            boundaries[name] = len(scenario.boundaries)
            for point in chosen(len(scenario.boundaries), args.points):
                play(scenario, point, score)
            print(f"{name}: {score.kill_points} kill points so far, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    document = asdict(score) | {"boundaries": boundaries, "database": "sqlite", "nodes": "simulated"}
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(document | {"duration_s": round(time.monotonic() - began)}, indent=2) + "\n")
    print(json.dumps({k: len(v) if isinstance(v, list) else v for k, v in asdict(score).items()}))
    return 0 if score.clean else 1


if __name__ == "__main__":
    sys.exit(main())
