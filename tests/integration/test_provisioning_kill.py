"""SIGKILL, SIGTERM and SIGHUP during `provision` (with fake SSH and Ansible)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.store import Store
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.records import RunStatus
from clusterctl.model.state import State
from clusterctl.workflows.provision.resume import take_over
from support.provisioning import World

if TYPE_CHECKING:
    from pathlib import Path

CODE = """
import signal, sys, time
from pathlib import Path
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # tests may run under nohup
from support.provisioning import World
from clusterctl.model.errors import ClusterctlError
state_dir, where = Path(sys.argv[1]), sys.argv[2]
def hang(what):
    if what.startswith(where):
        (state_dir / "hangs").touch()
        time.sleep(60)
world = World(state_dir, bad={n: {"kernel"} for n in World(state_dir).names}, before=hang)
try:
    world.run()
except ClusterctlError as e:
    print(e.hint)
    sys.exit(int(e.exit_code))
"""


def killed(state_dir: Path, where: str, number: signal.Signals) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    child = subprocess.Popen([sys.executable, "-c", CODE, str(state_dir), where], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 30
        while not (state_dir / "hangs").exists():
            assert child.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        child.send_signal(number)
        out, _ = child.communicate(timeout=20)
        return subprocess.CompletedProcess(child.args, child.returncode, out)
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize("where", ["provision", "burn_in"])
def test_after_kill_9_the_next_run_reports_it_and_continues(tmp_path: Path, where: str) -> None:
    assert killed(tmp_path, where, signal.SIGKILL).returncode == -signal.SIGKILL
    world = World(tmp_path)
    assert world.members() == frozenset()
    assert State.ADMITTED not in world.states().values()
    with Store.open(world.url) as store:
        dead = store.unfinished_runs()
        assert len(dead) == 1
        messages = take_over(store, world.names)
        assert dead[0].id in messages[0]
        assert store.run(dead[0].id).status is RunStatus.ABANDONED
        assert store.unfinished_runs() == ()
    assert world.run().exit_code is ExitCode.OK, "its leases died with it"
    assert set(world.states().values()) == {State.ADMITTED}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_sigterm_and_a_closed_terminal_interrupt_like_ctrl_c(tmp_path: Path, number: signal.Signals) -> None:
    ended = killed(tmp_path, "burn_in", number)
    assert ended.returncode == ExitCode.INTERRUPTED
    assert "--resume" in ended.stdout
    world = World(tmp_path)
    assert set(world.states().values()) == {State.PROVISIONING}
    with Store.open(world.url) as store:
        assert store.leases() == ()
        assert store.runs()[0].status is RunStatus.INTERRUPTED
