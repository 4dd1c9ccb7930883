"""Which lab racks a new test run may remove: only those of a test run that has ended."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from support.leftover_lab import of_ended_test_run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "pytest-of-ada" / "pytest-7"
    folder.mkdir(parents=True)
    return folder


def test_a_run_without_its_lock_has_ended(run: Path) -> None:
    assert of_ended_test_run(run / "site0" / "state" / "lab")


def test_a_run_whose_process_is_gone_was_killed(run: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    (run / ".lock").write_text(str(gone.pid))
    assert of_ended_test_run(run / "popen-gw1" / "site0" / "state" / "lab")


def test_a_run_that_goes_on_keeps_its_lab(run: Path) -> None:
    (run / ".lock").write_text(str(os.getpid()))
    assert not of_ended_test_run(run / "site0" / "state" / "lab")


def test_a_lab_of_a_user_is_never_removed(tmp_path: Path) -> None:
    assert not of_ended_test_run(tmp_path.parents[-1] / "home" / "ada" / "site" / "state" / "lab")
    assert not of_ended_test_run(tmp_path.parents[-1] / "srv" / "pytest-7" / "state" / "lab")
