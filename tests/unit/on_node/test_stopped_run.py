"""A run on the node that is stopped: when it says so and lets the next one in, nothing of it runs any more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

# the worker that Ansible would be; prints what still runs when the end is written, which is before the lock is free
SERVE = """
import json, sys
from pathlib import Path
from clusterctl_on_node import processes, service
service._GRACE_S = 1.0
service.argv = lambda content, private: ["sh", "-c", sys.argv[2]]
class Observed(service.Service):
    def _end(self, events, what):
        what["left"] = len(processes.descendants())
        super()._end(events, what)
Observed(Path(sys.argv[1]), Path("/nonexistent")).run()
"""
ASKED = {"holder": "a test", "environment": {}, "inventory": {}, "unattended_s": 0.5, "timeout_s": 1, "playbook": "p.yml", "tags": []}
WORKERS = {
    "all end when asked": "sleep 60 & wait",
    "a child ignores the first signal": "(trap '' TERM; sleep 60; sleep 60) >/dev/null & sleep 60",
    "a child outside its process group ignores it": "setsid sh -c \"trap '' TERM; sleep 60; sleep 60\" >/dev/null & sleep 60",
    "another one starts when it ends": "trap 'setsid sleep 60 >/dev/null & exit' TERM; sleep 60 & wait",
}


@pytest.mark.parametrize("worker", WORKERS)
def test_nothing_of_it_runs_when_its_end_is_written(worker: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "request").write_text(json.dumps({**ASKED, "flags": [], "extra_vars": {}, "verbosity": 0}))
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "on_node")}
    events = folder / "events"
    kept = tmp_path / "events"
    child = subprocess.Popen([sys.executable, "-c", SERVE, str(folder), WORKERS[worker]], env=environment)
    try:
        while child.poll() is None:
            if events.exists() and not kept.exists():
                os.link(events, kept)  # the folder goes away with the run
            time.sleep(0.02)
        assert child.returncode == 0
    finally:
        child.kill()
        child.wait()
    end = json.loads(kept.read_bytes().splitlines()[-1])["clusterctl_end"]
    assert end["why"] in {"timed_out", "unattended"}
    assert end["left"] == 0
