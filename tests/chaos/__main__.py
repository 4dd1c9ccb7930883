"""`python -m chaos`: kills `provision` at its boundaries, writes build/chaos.json and prints the score."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from chaos.databases import PostgresDatabases, SqliteFiles
from chaos.lost_answers import PoolScore, play_all
from chaos.rack import SCENARIOS
from chaos.rounds import Score, chosen, play, prepare
from chaos.schedulers import POOLS, scheduler
from support.postgres import binaries, server

if TYPE_CHECKING:
    from chaos.databases import Databases


def main() -> int:
    """Run it. Returns 0 if nothing was lost, wrong or left over."""
    parser = argparse.ArgumentParser(prog="python -m chaos", description=__doc__)
    parser.add_argument("--points", type=int, default=0, help="boundaries per scenario (default: all)")
    parser.add_argument("--scenario", action="append", choices=sorted(SCENARIOS), help="only these (repeat)")
    parser.add_argument("--database", action="append", choices=["sqlite", "postgresql"], help="only these (repeat)")
    parser.add_argument("--pool", action="append", choices=POOLS, help="only these, whose schedulers lose answers (repeat)")
    parser.add_argument("--out", type=Path, default=Path("build/chaos.json"))
    args = parser.parse_args()
    began, score, boundaries = time.monotonic(), Score(), dict[str, dict[str, int]]()
    pools: dict[str, PoolScore] = {}
    with ExitStack() as stack:
        for kind in args.pool or POOLS:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="clusterctl-chaos-")))
            pools[kind] = play_all(scheduler(kind, folder, stack), args.scenario or SCENARIOS, folder, args.points)
            print(f"lost answers of {kind}: {pools[kind].rounds} kills, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        for name in args.database or _available():
            databases = _databases(name, stack)
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="clusterctl-chaos-")))
            boundaries[name] = {}
            for scenario in (prepare(scenario, folder, databases) for scenario in args.scenario or SCENARIOS):
                boundaries[name][scenario.name] = len(scenario.boundaries)
                for point in chosen(len(scenario.boundaries), args.points):
                    for power_loss in (False, True):
                        play(scenario, point, score, power_loss=power_loss)
                print(f"{scenario.title}: {score.kill_points} kills so far, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    document = asdict(score) | {
        "boundaries": boundaries,
        "pools": {kind: asdict(found) for kind, found in pools.items()},
        "nodes": "simulated",
        "duration_s": round(time.monotonic() - began),
    }
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(document, indent=2) + "\n")
    print(json.dumps(_counts(score) | {"pools": {kind: _counts(found) for kind, found in pools.items()}}))
    return 0 if score.clean and all(found.clean for found in pools.values()) else 1


def _counts(score: Score | PoolScore) -> dict[str, int]:
    return {key: len(value) if isinstance(value, list) else value for key, value in asdict(score).items()}


def _available() -> list[str]:
    if binaries():
        return ["sqlite", "postgresql"]
    print("PostgreSQL's initdb is not installed (apt-get install postgresql): only SQLite is tested", file=sys.stderr)
    return ["sqlite"]


def _databases(name: str, stack: ExitStack) -> Databases:
    if name == "sqlite":
        return SqliteFiles()
    tools = binaries()
    if tools is None:
        raise SystemExit("PostgreSQL's initdb is not installed: apt-get install postgresql")
    return PostgresDatabases(stack.enter_context(server(tools)))


if __name__ == "__main__":
    sys.exit(main())
