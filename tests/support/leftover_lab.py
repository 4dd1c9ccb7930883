"""Lab racks that a killed test run left behind: they hold the names and addresses that the next run needs."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

LABEL = "clusterctl_lab"
_TEST_RUN = re.compile(r"pytest-\d+")


def leftover_state_dirs(target: str) -> tuple[Path, ...]:
    """State directories of ended test runs whose lab still has nodes of a rack."""
    wanted = f"label={LABEL}.rack={target.replace('-', '_')}"
    listed = subprocess.run(
        ["podman", "ps", "--all", "--format", "json", "--filter", wanted], check=True, capture_output=True, text=True
    ).stdout
    roots = {Path(row["Labels"][f"{LABEL}.root"]) for row in json.loads(listed or "[]")}
    return tuple(sorted(root.parent for root in roots if of_ended_test_run(root)))


def of_ended_test_run(path: Path) -> bool:
    """Whether a path belongs to a test run that has ended; a path outside of all test runs does not.

    pytest keeps its pid in `.lock` of a run's folder and removes the file at its end (_pytest/pathlib.py, create_cleanup_lock).
    """
    run = next((p for p in path.parents if _TEST_RUN.fullmatch(p.name) and p.parent.name.startswith("pytest-of-")), None)
    if run is None:
        return False
    try:
        os.kill(int((run / ".lock").read_text(encoding="ascii")), 0)
    except (FileNotFoundError, ProcessLookupError):
        return True
    return False
