"""The performance suite: `make bench`. Prints a table and writes build/bench.json.

    python benchmarks/bench.py [--quick] [--nodes 1000,5000,12500] [--lab SITE_DIR --lab-nodes A,B]

`--quick`: a tiny fleet and no lab, for correctness; its numbers mean nothing. Without `--lab`, what needs lab nodes is null and named.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "tests")]

import fleet  # noqa: E402 the path above comes first
import lab_peers  # noqa: E402
from cpu_cost import median_cpu_s  # noqa: E402

from clusterctl.store import Store  # noqa: E402
from support.stores import a_node  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

Numbers = dict[str, Any]
# key: (limit, whether less is better)
TARGETS: dict[str, tuple[float, bool]] = {
    "drift_controller_ms_per_node": (15, True),
    "drift_node_cpu_s_per_100_checks": (1, True),
    "ratio_ansible_check": (300, False),
    "ratio_testinfra_best": (60, False),
    "ratio_pyinfra_dry": (30, False),
    "drift_12500_cpu_s": (200, True),
    "drift_12500_rss_mib": (300, True),
    "spec_12500_s": (60, True),
    "help_cpu_ms": (100, True),
    "status_12500_cpu_ms": (300, True),
    "runner_overhead_pct": (5, True),
    "runner_files": (99, True),
}


def start_up(nodes: int, times: int) -> Numbers:
    """CPU of `--help`, and of `status` over a store of `nodes` nodes."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        with Store.open(f"sqlite:///{folder}/clusterctl.db") as store:
            store.register([a_node(f"r{i // 36:03}-n{i % 36:02}", rack=f"rack_{i // 36:03}", slot=i % 36) for i in range(nodes)])
        status = [fleet.CLUSTERCTL, "--state-dir", folder, "status", "all"]
        return {
            "help_cpu_ms": 1000 * median_cpu_s([fleet.CLUSTERCTL, "--help"], times),
            f"status_{nodes}_cpu_ms": 1000 * median_cpu_s(status, times, cwd=Path(folder)),
        }


def fleets(sizes: list[int]) -> Numbers:
    """`drift all` over replaying nodes; what one more node costs is the slope from the smallest fleet to the largest."""
    found: Numbers = {"fleets": []}
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="fleet-") as folder:
            cost = fleet.run(size, fleet.ANSWER, Path(folder) / "fleet", 60 + size / 5)
        if cost.exit_code != 0 or cost.stored != cost.nodes * cost.checks:
            raise RuntimeError(f"the fleet was not seen as declared and stored whole: {cost}")
        found["fleets"].append(asdict(cost))
        found |= {f"drift_{size}_cpu_s": cost.cpu_s, f"drift_{size}_rss_mib": cost.rss_mib, f"drift_{size}_wall_s": cost.wall_s}
    first, last = found["fleets"][0], found["fleets"][-1]
    found["drift_controller_ms_per_node"] = 1000 * (last["cpu_s"] - first["cpu_s"]) / (last["nodes"] - first["nodes"])
    return found


def specs(nodes: int) -> Numbers:
    """Seconds to resolve the specs of a site."""
    argv = [sys.executable, str(ROOT / "benchmarks" / "spec_resolution.py"), "--nodes", str(nodes)]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    match = re.search(r"wall ([\d.]+) s", said)
    if match is None:
        raise RuntimeError(said)
    return {f"spec_{nodes}_s": float(match[1])}


def against_peers(lab: lab_peers.Lab, ours_ms: float) -> Numbers:
    """The lab's numbers; a peer that cannot run is named with its reason and has no ratio."""
    found: Numbers = {"without_number": {}}
    peers: dict[str, Callable[[], float]] = {
        "ansible_check": lambda: lab_peers.ansible_check(lab),
        "ansible_check_mitogen": lambda: lab_peers.ansible_check(lab, mitogen=True),
        "testinfra_ansible": lambda: lab_peers.testinfra(lab, "ansible"),
        "testinfra_ssh": lambda: lab_peers.testinfra(lab, "ssh"),
        "pyinfra_dry": lambda: lab_peers.pyinfra_dry(lab),
    }
    cost: dict[str, float] = {}
    for name, measure in peers.items():
        try:
            cost[name] = measure()
        except RuntimeError as e:
            found["without_number"][name] = str(e)[-600:]
    found |= {f"{name}_controller_s_per_node": value for name, value in cost.items()}
    found |= {f"ratio_{name}": 1000 * value / ours_ms for name, value in cost.items()}
    remote = [v for name, v in cost.items() if name.startswith("testinfra")]
    found["ratio_testinfra_best"] = 1000 * min(remote) / ours_ms if remote else None
    found["drift_node_cpu_s"], found["drift_node_checks"] = lab_peers.node_cpu_s(lab)
    found["drift_node_cpu_s_per_100_checks"] = 100 * found["drift_node_cpu_s"] / found["drift_node_checks"]
    found["runner_overhead_pct"], found["runner_files"] = lab_peers.runner_overhead(lab)
    return found


def table(numbers: Numbers) -> str:
    """One line per number that has a target."""
    lines = [f"{'number':<34}{'measured':>12}{'target':>12}"]
    for key, (limit, less) in TARGETS.items():
        value = numbers.get(key)
        shown = "not measured" if value is None else f"{value:.1f}"
        verdict = "" if value is None or (value <= limit if less else value >= limit) else "  MISSED"
        lines.append(f"{key:<34}{shown:>12}{('<= ' if less else '>= ') + format(limit, 'g'):>12}{verdict}")
    return "\n".join(lines)


def main() -> int:
    """Measure, print, write; the exit status says whether everything could be measured that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--nodes", default="1000,5000,12500", help="sizes of the fleets")
    parser.add_argument("--lab", type=Path, help="site folder of a lab rack with two provisioned nodes")
    parser.add_argument("--lab-nodes", default="r36-n01,r36-n02")
    parser.add_argument("--peers", type=Path, default=ROOT / "build" / "bench" / "peers", help="environment of benchmarks/requirements.txt")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench.json")
    args = parser.parse_args()
    sizes = [2, 4] if args.quick else [int(n) for n in args.nodes.split(",")]
    numbers: Numbers = {"cores": os.cpu_count(), "quick": args.quick}
    numbers |= start_up(50 if args.quick else 12_500, 1 if args.quick else 5)
    numbers |= fleets(sizes)
    if not args.quick:
        numbers |= specs(12_500)
    if args.lab:
        one, other = args.lab_nodes.split(",")
        numbers |= against_peers(
            lab_peers.Lab(args.lab.resolve(), (one, other), args.peers.resolve()), numbers["drift_controller_ms_per_node"]
        )
    numbers = dict.fromkeys(TARGETS) | numbers
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(numbers, indent=2) + "\n")
    print(table(numbers))
    for name, why in numbers.get("without_number", {}).items():
        print(f"{name} could not be measured: {why}")
    return 1 if numbers.get("without_number") else 0


if __name__ == "__main__":
    sys.exit(main())
