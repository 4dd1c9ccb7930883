"""The performance suite: `make bench`. Prints a table and writes build/bench.json.

    python benchmarks/bench.py [--quick] [--only PART,...] [--nodes 1000,5000,12500] [--allow-missing]

`--quick` runs a tiny fleet and no lab, to test the suite itself; its numbers are meaningless. If a part cannot run, the output names the reason, its
numbers are null, and the exit status is 1 (unless --allow-missing). A number that misses its target is reported, but does not fail the suite.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "tests")]

import fleet  # noqa: E402 the path above comes first
import lab_parts  # noqa: E402
import start_up  # noqa: E402
from cpu_cost import CannotMeasureError  # noqa: E402
from targets import TARGETS, missing_reason, ratios, table, work_per_node  # noqa: E402

from clusterctl.model.errors import ClusterctlError  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

    from targets import Numbers

_FLOOR_FLEETS = (20, 520)
_QUICK_FLOOR_FLEETS = (2, 6)


@dataclass
class Bench:
    """The results so far, written to `out` after each part.

    Attributes:
        selected: prefixes of the parts to run; all if empty.
        reasons: part -> why it has no number.
    """

    selected: frozenset[str]
    out: Path
    numbers: Numbers = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def wants(self, *names: str) -> bool:
        """Whether one of the parts, or of the parts whose names begin so, is selected."""
        return not self.selected or any(name.startswith(prefix) or prefix.startswith(name) for prefix in self.selected for name in names)

    def part(self, name: str, measure: Callable[[], Numbers]) -> None:
        """Run a part if it is selected. If it cannot be measured, record the reason and go on."""
        if self.selected and not any(name.startswith(prefix) for prefix in self.selected):
            return
        began = time.monotonic()
        try:
            self.numbers |= measure()
            status = "done"
        except (CannotMeasureError, ClusterctlError, OSError) as e:
            self.reasons[name] = status = f"could not be measured: {e}"
        self.numbers.setdefault("wall_s", {})[name] = round(time.monotonic() - began, 1)
        print(f"bench: {name}: {status} ({time.monotonic() - began:.0f} s)", file=sys.stderr, flush=True)
        self.write()

    def write(self) -> Numbers:
        """Write the results so far, with the ratios, and return them."""
        numbers = dict.fromkeys(TARGETS) | self.numbers | ratios(self.numbers)
        missing = {key: missing_reason(key, self.reasons) for key in TARGETS if numbers[key] is None}
        numbers |= {"without_number": missing, "could_not_run": self.reasons}
        self.out.parent.mkdir(parents=True, exist_ok=True)
        self.out.write_text(json.dumps(numbers, indent=2) + "\n")
        return numbers


def fleets(sizes: list[int], answer: Path) -> Numbers:
    """`drift all` on fleets of replaying nodes. The cost per node is the slope from the smallest fleet to the largest.

    Raises:
        CannotMeasureError: a node was not found in its declared state, or the store does not return all findings.
    """
    found: Numbers = {"fleets": []}
    for size in sizes:
        with TemporaryDirectory(prefix="fleet-") as folder:
            cost = fleet.measure_fleet(size, answer, Path(folder) / "fleet", 60 + size / 5)
        if cost.exit_code != 0 or cost.stored != cost.nodes * cost.checks:
            raise CannotMeasureError(f"drift reported differences, or not all findings were stored: {cost}")
        print(f"bench: {size} nodes: {cost.cpu_s:.1f} s CPU, {cost.wall_s:.0f} s wall, {cost.rss_mib:.0f} MiB", file=sys.stderr, flush=True)
        found["fleets"].append(asdict(cost))
        found |= {f"drift_{size}_cpu_s": cost.cpu_s, f"drift_{size}_rss_mib": cost.rss_mib, f"drift_{size}_wall_s": cost.wall_s}
    first, last = found["fleets"][0], found["fleets"][-1]
    if len(sizes) > 1:
        found["drift_controller_ms_per_node"] = 1000 * (last["cpu_s"] - first["cpu_s"]) / (last["nodes"] - first["nodes"])
    return found


def floor(sizes: tuple[int, int], answer: Path, largest: int) -> Numbers:
    """CPU per node of a bare SSH exchange that transfers the same answer, as a lower bound."""
    with TemporaryDirectory(prefix="fleet-") as folder:
        few, many = (fleet.floor_cpu_s(n, answer, Path(folder) / str(n)) for n in sizes)
    each_s = (many["cpu_s"] - few["cpu_s"]) / (sizes[1] - sizes[0])
    return {"floor_exec_ms_per_node": 1000 * each_s, f"floor_exec_{largest}_cpu_s": each_s * largest, "answer_bytes": many["answer_bytes"]}


def measure(args: argparse.Namespace) -> Bench:
    """Run all selected parts."""
    bench = Bench(frozenset(args.only.split(",")) - {""}, args.out)
    bench.numbers |= {"cores": os.cpu_count(), "quick": args.quick}
    sizes = [2, 4] if args.quick else [int(n) for n in args.nodes.split(",")]
    answer = fleet.RECORDED_FINDINGS
    with ExitStack() as stack:
        if args.quick:
            bench.reasons["lab"] = "--quick starts no lab"
        elif not bench.selected or any(prefix.startswith(lab_parts.PREFIX) for prefix in bench.selected):
            answer = lab_parts.measure_lab_parts(bench, args.folder, args.rack, stack) or answer
    bench.numbers["answer"] = "recorded before" if answer == fleet.RECORDED_FINDINGS else "of this run's lab node"
    bench.part("start_up", lambda: start_up.command_cost(50 if args.quick else 12_500, 1 if args.quick else 5))
    bench.part("floor", lambda: floor(_QUICK_FLOOR_FLEETS if args.quick else _FLOOR_FLEETS, answer, sizes[-1]))
    bench.part("fleets", lambda: fleets(sizes, answer))
    if not args.quick:
        bench.part("specs", lambda: start_up.spec_resolution_cost(12_500))
    return bench


def main() -> int:
    """Measure, print, write. Returns 0 if all selected parts could be measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument(
        "--only",
        default="",
        help=f"parts to run, or prefixes of their names: {', '.join(lab_parts.PART_NAMES)}, start_up, floor, fleets, specs",
    )
    parser.add_argument("--nodes", default="1000,5000,12500", help="sizes of the fleets")
    parser.add_argument("--rack", type=int, default=36, help="number of the lab rack")
    parser.add_argument("--allow-missing", action="store_true", help="exit 0 even if a part could not be measured")
    parser.add_argument(
        "--folder", type=Path, default=ROOT / "build" / "bench", help="folder of the lab's site and of the peers' environment"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench.json")
    args = parser.parse_args()
    args.folder = args.folder.resolve()
    bench = measure(args)
    numbers = bench.write()
    missing: dict[str, str] = numbers["without_number"]
    print(table(numbers))
    print(work_per_node(numbers))
    for why in dict.fromkeys(missing.values()):
        print(f"no number for {', '.join(k for k, w in missing.items() if w == why)}: {why}")
    if args.quick:
        print("This was a quick run: its numbers are meaningless.")
    failed = bench.reasons.keys() - ({"lab"} if args.quick else set())
    return 1 if failed and not args.allow_missing else 0


if __name__ == "__main__":
    sys.exit(main())
