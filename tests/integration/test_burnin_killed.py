"""`kill -9` of clusterctl in the middle of a group's measurement, on three nodes with real SSH, and the run after it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.store import Store
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.records import RunStatus
from support.burnin_rack import BurninRack
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.container_node import ContainerNode

pytestmark = [pytest.mark.containers, pytest.mark.slow, pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed")]

GATE = ("--gates", "nccl_group")
RANK_S = 3600
RANKS = f"sleep {RANK_S}"
RUNNING = "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline 2>/dev/null; echo; done | grep -E '{pattern}' || true"


@pytest.fixture
def rack(burnin_containers: dict[str, ContainerNode], tmp_path: Path) -> Iterator[BurninRack]:
    yield BurninRack(burnin_containers, tmp_path / "site", tmp_path / "state", {"nccl_group": {"variants": {}}})
    for one in burnin_containers.values():
        one.shell("rm -f /etc/fake-ranks; pkill -9 -f burnin_agen[t]; pkill -9 -f 'sleep 360[0]'; true")


def left(rack: BurninRack) -> dict[str, list[str]]:
    """Node -> agents and what they started."""
    shown = {
        name: one.shell(RUNNING.format(pattern=f"burnin_agent.py ru[n]|mpiru[n]|orte[d]|{RANKS[:-1]}[0]"))
        for name, one in rack.nodes.items()
    }
    return {name: text.splitlines() for name, text in shown.items() if text.strip()}


def until(condition: Callable[[], bool], limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.3)


def kill_in_the_middle(rack: BurninRack) -> None:
    """Start a burn-in whose ranks take some seconds, and end its controller while all nodes run ranks."""
    for one in rack.nodes.values():
        one.shell(f"echo {RANK_S} > /etc/fake-ranks")
    argv = [sys.executable, "-m", "clusterctl", "--state-dir", str(rack.state_dir), "burnin", "rack-b", *GATE, *rack.write()]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    child = subprocess.Popen(argv, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: child.poll() is not None or all(RANKS in str(left(rack).get(name)) for name in rack.nodes), 300)
        assert child.poll() is None
    finally:
        child.kill()
        child.wait()
    for one in rack.nodes.values():
        one.shell("rm -f /etc/fake-ranks")


def test_the_next_burnin_passes_and_nothing_is_left_of_the_one_before(rack: BurninRack, capsys: pytest.CaptureFixture[str]) -> None:
    kill_in_the_middle(rack)
    assert left(rack).keys() == rack.nodes.keys()
    with Store.open(rack.url) as store:
        (dead,) = store.unfinished_runs()
    judged_code, judged = rack.clusterctl(capsys, "judge", dead.id)
    assert judged_code == ExitCode.GATE_FAILED
    assert not any(n["passed"] for n in judged["nodes"])

    code, data = rack.clusterctl(capsys, "burnin", "rack-b", *GATE)
    assert [(n["name"], r) for n in data["nodes"] for r in n["results"] if r["outcome"] != "pass"] == []
    assert (code, data["run"] == dead.id) == (ExitCode.OK, False)
    assert left(rack) == {}
    with Store.open(rack.url) as store:
        assert store.run(dead.id).status is RunStatus.ABANDONED
        assert store.leases() == ()
