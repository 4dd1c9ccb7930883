"""`python -m scale`: a fleet through more and more workers, and kills all over; writes build/scale.json and prints the score."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from scale.killing import as_json, kill_all_over
from scale.throughput import compared, measure, seed
from support.postgres import binaries, server
from support.replayed_racks import ReplayedRacks

if TYPE_CHECKING:
    from scale.throughput import Throughput

_PER_RACK = 72


def main() -> int:
    """Run it. Returns 0 if every shard ended once, and every run did what it should."""
    parser = argparse.ArgumentParser(prog="python -m scale", description=__doc__)
    parser.add_argument("--nodes", type=int, default=12_500)
    parser.add_argument("--workers", default="1,2,4,8", help="how many workers, one measurement each")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("build/scale.json"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="clusterctl-scale-") as folder:
        killed = kill_all_over(args.kills, Path(folder), args.seed, _tell)
    fleets = compared(_throughput(args.nodes, [int(w) for w in args.workers.split(",")])) if args.nodes else []
    document = {"kills": as_json(killed), "fleets": [asdict(f) for f in fleets], "doubles": killed.doubles, "losses": killed.losses}
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(document, indent=2) + "\n")
    print(json.dumps({**as_json(killed), "share_of_linear": {f.workers: f.share_of_linear for f in fleets}}))
    return 0 if killed.clean and not any(f.not_done for f in fleets) else 1


def _throughput(nodes: int, workers: list[int]) -> list[Throughput]:
    tools = binaries()
    if tools is None:
        raise SystemExit("PostgreSQL's initdb is not installed: apt-get install postgresql")
    found: list[Throughput] = []
    with tempfile.TemporaryDirectory(prefix="clusterctl-scale-") as folder, server(tools) as url:
        racks = ReplayedRacks(Path(folder) / "racks", nodes, _PER_RACK, url, {})
        seed(racks)
        with racks.answering():
            for number in workers:
                found.append(measure(racks, number))
                _tell(f"{number} workers: {found[-1]}")
    return found


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
