"""What a broken package database is repaired with; apt-get and dpkg are scripts that record their arguments."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from support.local_play import run_play
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

TASKS = ROOT / "roles" / "shared" / "tasks" / "repair_Debian.yml"
_APT = """#!/bin/sh
echo "apt-get $*" >> {log}
[ "$1" = check ] || exit {fixed}
[ {broken} = 0 ] || echo "E: Unmet dependencies" >&2
exit {broken}
"""
_DPKG = """#!/bin/sh
echo "dpkg $*" >> {log}
exit {configured}
"""


def repair(folder: Path, *words: str, broken: int, configured: int = 0, fixed: int = 0) -> tuple[int, str, list[str]]:
    """Exit status and output of the task file, and the calls of apt-get and dpkg."""
    log = folder / "calls"
    log.touch()
    for name, text in (("apt-get", _APT), ("dpkg", _DPKG)):
        (folder / name).write_text(text.format(log=log, broken=broken, configured=configured, fixed=fixed))
        (folder / name).chmod(0o755)
    tasks = [{"ansible.builtin.import_tasks": str(TASKS)}]
    done = run_play(folder, tasks, *words, environment={"PATH": f"{folder}:{os.environ['PATH']}"})
    return done.code, done.output, [line.split(" -o APT::Install")[0] for line in log.read_text().splitlines()]


CHECK = "apt-get check -q -o DPkg::Lock::Timeout=60"
CONFIGURE = "dpkg --force-confdef --force-confold --configure --pending"
FIX = "apt-get --fix-broken --yes --allow-downgrades --allow-change-held-packages -o APT::Ignore-Hold=true"


def test_a_healthy_database_is_left_alone(tmp_path: Path) -> None:
    code, out, calls = repair(tmp_path, broken=0)
    assert (code, calls) == (0, [CHECK])
    assert "changed=0" in out


@pytest.mark.parametrize("configured", [0, 1])
def test_a_broken_one_is_repaired(tmp_path: Path, configured: int) -> None:
    code, _, calls = repair(tmp_path, broken=100, configured=configured)
    assert (code, calls) == (0, [CHECK, CONFIGURE, FIX])


def test_check_mode_reports_it_and_changes_nothing(tmp_path: Path) -> None:
    code, out, calls = repair(tmp_path, "--check", broken=100)
    assert (code, calls) == (0, [CHECK])
    assert "changed=1" in out
    assert "E: Unmet dependencies" in out


def test_a_database_in_use_is_not_taken_for_a_broken_one(tmp_path: Path) -> None:
    code, out, calls = repair(tmp_path, broken=75)
    assert (code, calls) == (2, [CHECK])
    assert "failed=1" in out


@pytest.mark.parametrize(("broken", "configured", "fixed"), [(1, 0, 0), (100, 2, 0), (100, 0, 100)])
def test_a_repair_that_fails_fails_the_role(tmp_path: Path, broken: int, configured: int, fixed: int) -> None:
    code, out, _ = repair(tmp_path, broken=broken, configured=configured, fixed=fixed)
    assert code == 2
    assert "failed=1" in out
