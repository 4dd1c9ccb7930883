"""`python -m pool_suites`: runs the pools on real schedulers, writes build/pools.json and prints what was skipped, and why."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pool_suites.results import Suite, read_junit

SUITES = {"slurm": "tests/integration/test_pool_slurm.py", "kubernetes": "tests/integration/test_pool_kubernetes.py"}


def main() -> int:
    """Run them. Returns 0 if no test failed; what was skipped is told."""
    parser = argparse.ArgumentParser(prog="python -m pool_suites", description=__doc__)
    parser.add_argument("--suite", action="append", choices=sorted(SUITES), help="only these (repeat)")
    parser.add_argument("--out", type=Path, default=Path("build/pools.json"))
    args = parser.parse_args()
    began = time.monotonic()
    suites = [run(name) for name in args.suite or SUITES]
    args.out.parent.mkdir(parents=True, exist_ok=True)
    document = {"suites": [s.document() for s in suites], "duration_s": round(time.monotonic() - began)}
    args.out.write_text(json.dumps(document, indent=2) + "\n")
    for suite in suites:
        print(suite)
    return int(any(s.failed or not s.cases for s in suites))


def run(name: str) -> Suite:
    """One suite, by pytest."""
    with tempfile.TemporaryDirectory(prefix="clusterctl-pools-") as folder:
        results = Path(folder) / "results.xml"
        argv = [sys.executable, "-m", "pytest", "-q", f"--junitxml={results}", SUITES[name]]
        code = subprocess.run(argv, check=False).returncode
        return read_junit(name, results.read_text(encoding="utf-8") if results.exists() else "", code)


if __name__ == "__main__":
    sys.exit(main())
