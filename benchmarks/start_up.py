"""The cost of commands that use no node, and of resolving the specs of a site."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import fleet
from cpu_cost import CannotMeasureError, median_cpu_s, require_success, run_command

from clusterctl.adapters.store import Store
from support.stores import a_node

if TYPE_CHECKING:
    from targets import Numbers

_RACK = 36
# The minimum that `status` needs: an interpreter, a database driver, the rows.
_READ = "import sqlite3, sys; print(len(sqlite3.connect(sys.argv[1]).execute('select * from nodes').fetchall()))"


def command_cost(nodes: int, times: int) -> Numbers:
    """CPU times of `--help` and of `status` with `nodes` nodes in the store; for comparison an empty Python program and the bare query."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        file = Path(folder) / "clusterctl.db"
        with Store.open(f"sqlite:///{file}") as store:
            store.register(
                [a_node(f"r{i // _RACK:03}-n{i % _RACK:02}", rack=f"rack_{i // _RACK:03}", slot=i % _RACK) for i in range(nodes)]
            )
        status = [fleet.CLUSTERCTL, "--state-dir", folder, "status", "all"]
        return {
            "help_cpu_ms": 1000 * median_cpu_s([fleet.CLUSTERCTL, "--help"], times),
            f"status_{nodes}_cpu_ms": 1000 * median_cpu_s(status, times, cwd=Path(folder)),
            "floor_python_cpu_ms": 1000 * median_cpu_s([sys.executable, "-c", "pass"], times),
            "floor_status_cpu_ms": 1000 * median_cpu_s([sys.executable, "-c", _READ, str(file)], times),
        }


def spec_resolution_cost(nodes: int) -> Numbers:
    """The time to resolve the specs of a site with `nodes` nodes."""
    script = Path(__file__).parent / "spec_resolution.py"
    ran = require_success(run_command([sys.executable, str(script), "--nodes", str(nodes)]), script.name, (0, 1))
    match = re.search(r"wall ([\d.]+) s", ran.out)
    if match is None:
        raise CannotMeasureError(ran.output[-500:])
    return {f"spec_{nodes}_s": float(match[1]), f"spec_{nodes}_cpu_s": ran.cpu_s}
