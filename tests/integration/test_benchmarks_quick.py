"""The benchmark runs, sees every node, stores every finding. Nothing here is timed."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def test_the_quick_form_measures_and_writes(tmp_path: Path) -> None:
    argv = [sys.executable, str(ROOT / "benchmarks" / "bench.py"), "--quick", "--out", str(tmp_path / "bench.json")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "bench.json").read_text())
    assert found["help_cpu_ms"] > 0
    assert found["ratio_ansible_check"] is None
    assert [(f["nodes"], f["exit_code"], f["stored"]) for f in found["fleets"]] == [
        (n, 0, n * f["checks"]) for n, f in zip((2, 4), found["fleets"], strict=True)
    ]
    assert all(f["checks"] > 100 and f["servers_cpu_s"] > 0 for f in found["fleets"])
    assert "not measured" in done.stdout
