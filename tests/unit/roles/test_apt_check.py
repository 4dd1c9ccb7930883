"""The package manager of a first boot is in use: the role waits for it, and names who holds it when it waited long enough."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCRIPT = ROOT / "roles" / "shared" / "files" / "apt_check.py"
_HOLD = (
    "import fcntl,sys,time; f=open(sys.argv[1],'w'); fcntl.lockf(f,fcntl.LOCK_EX); print('held',flush=True); time.sleep(float(sys.argv[2]))"
)
BUSY = 75


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A /var with apt's locks, an apt-get whose database is broken, and a systemctl that prints what the test wrote."""
    for name in ("lib/dpkg/lock-frontend", "lib/dpkg/lock", "lib/apt/lists/lock", "cache/apt/archives/lock"):
        file = tmp_path / "var" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    _program(tmp_path, "apt-get", 'echo "apt-get $*"; exit 100')
    _program(tmp_path, "systemctl", 'echo "ActiveState=inactive"')
    return tmp_path


def _program(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def check(node: Path, limit_s: int) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{node}:{os.environ['PATH']}"}
    argv = [sys.executable, "-c", SCRIPT.read_text(), str(limit_s), str(node / "var")]
    return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60, check=False)


@contextmanager
def held(lock: Path, seconds: float) -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", _HOLD, str(lock), str(seconds)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        try:
            yield holder.pid
        finally:
            holder.kill()


def test_what_is_not_in_use_is_checked_at_once(node: Path) -> None:
    done = check(node, 30)
    assert (done.returncode, done.stdout) == (100, "apt-get check -q -o DPkg::Lock::Timeout=60\n")


@pytest.mark.parametrize("name", ["lib/dpkg/lock-frontend", "lib/dpkg/lock", "lib/apt/lists/lock", "cache/apt/archives/lock"])
def test_the_holder_of_a_lock_is_named_after_the_limit(node: Path, name: str) -> None:
    lock = node / "var" / name
    with held(lock, 60) as pid:
        done = check(node, 0)
    assert (done.returncode, done.stdout) == (BUSY, "")
    assert f"(pid {pid}) holds {lock}" in done.stderr


def test_a_lock_that_is_given_back_is_waited_for(node: Path) -> None:
    began = time.monotonic()
    with held(node / "var/lib/dpkg/lock-frontend", 3):
        done = check(node, 50)
    assert done.returncode == 100
    assert time.monotonic() - began > 2


@pytest.mark.parametrize("shown", ["ActiveState=activating", "ActiveState=inactive\nJob=117"], ids=["runs", "queued"])
def test_cloud_init_is_waited_for(node: Path, shown: str) -> None:
    _program(node, "systemctl", f'[ "$4" = cloud-final.service ] && printf "{shown}\\n"; exit 0')
    done = check(node, 0)
    assert (done.returncode, "cloud-final.service has not finished" in done.stderr) == (BUSY, True)


@pytest.mark.parametrize("shown", ["ActiveState=active", "ActiveState=failed", "ActiveState=inactive\nJob=0", ""])
def test_a_stage_that_ended_or_never_starts_is_not(node: Path, shown: str) -> None:
    _program(node, "systemctl", f'printf "{shown}\\n"')
    assert check(node, 0).returncode == 100


def test_a_node_without_systemd_or_locks_is_checked(node: Path) -> None:
    _program(node, "systemctl", "exit 1")
    for lock in (node / "var").rglob("lock*"):
        lock.unlink()
    assert check(node, 0).returncode == 100
