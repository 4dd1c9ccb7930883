"""The time and memory needed to resolve the specs of a large site.

    python benchmarks/spec_resolution.py [--nodes 12500] [--racks 350] [--content DIR]

Limits: 12,500 nodes in 350 racks in less than 10 s on a quiet machine, and 1 GiB. The exit status is 1 if they are exceeded.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from clusterctl.adapters.inventory.groups import by_digest  # noqa: E402 the path above comes first
from clusterctl.adapters.inventory.load import load_nodes  # noqa: E402
from support.big_site import write_site  # noqa: E402

LIMIT_S = 10.0
LIMIT_MIB = 1024.0


def main() -> int:
    """Write a site, resolve its specs, print the cost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=12_500)
    parser.add_argument("--racks", type=int, default=350)
    parser.add_argument("--content", type=Path, default=ROOT, help="folder with roles/ and inventory/common")
    parser.add_argument("--common", type=Path, default=None, help="common layer (default: CONTENT/inventory/common)")
    parser.add_argument("--profile", default="profile_hgx_h100_ib")
    parser.add_argument("--template", action="store_true", help="declare a variable as a template with the node's name")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        site = write_site(Path(folder) / "site", nodes=args.nodes, racks=args.racks, profile=args.profile)
        if args.template:
            (site / "group_vars").mkdir()
            (site / "group_vars" / "all.yml").write_text("nvlink_domain: 'nvl-{{ rack }}-{{ inventory_hostname }}'\n")
        layers = [args.common or args.content / "inventory" / "common", site]
        started, cpu = time.perf_counter(), cpu_s()
        nodes = load_nodes(layers, "all", content=args.content)
        wall_s, cpu = time.perf_counter() - started, cpu_s() - cpu
    own, worker = (resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(f"{len(nodes)} nodes, {args.racks} racks, {len(by_digest(nodes))} distinct specs")
    print(f"wall {wall_s:.1f} s, CPU {cpu:.1f} s, peak memory {worker:.0f} MiB (worker) + {own:.0f} MiB (clusterctl)")
    within = wall_s < LIMIT_S and own + worker < LIMIT_MIB
    print(f"limits {LIMIT_S:.0f} s and {LIMIT_MIB:.0f} MiB: {'met' if within else 'EXCEEDED'}")
    return 0 if within else 1


def cpu_s() -> float:
    """CPU seconds of this process and its finished children."""
    return sum(u.ru_utime + u.ru_stime for u in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)))


if __name__ == "__main__":
    sys.exit(main())
