"""Folders that killed burn-ins left on a node go with the next one; those of a run that may still be at work stay."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

LIMIT_S = 600


def play(tmp_path: Path, folder: Path, *words: str) -> None:
    tasks = [{"ansible.builtin.include_tasks": str(ROOT / "roles/burnin/tasks/stale.yml")}]
    variables = {"burnin_agent_dir": str(folder), "burnin_limit_s": LIMIT_S, "ansible_python_interpreter": sys.executable}
    book = [{"hosts": "localhost", "connection": "local", "gather_facts": False, "vars": variables, "tasks": tasks}]
    (tmp_path / "play.json").write_text(json.dumps(book))
    argv: Sequence[str] = [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "localhost,", str(tmp_path / "play.json"), *words]
    done = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("words", [(), ("--check",)])
def test_only_what_is_older_than_a_run_can_be_goes(tmp_path: Path, words: tuple[str, ...]) -> None:
    folder = tmp_path / "burnin"
    for name, age_s in (("killed", 2 * LIMIT_S), ("at-work", LIMIT_S // 2)):
        (folder / name).mkdir(parents=True)
        (folder / name / "plan.json").write_text("{}")
        os.utime(folder / name, (time.time() - age_s,) * 2)
    (folder / "lock").write_text("")
    play(tmp_path, folder, *words)
    left = {p.name for p in folder.iterdir()}
    assert left == {"at-work", "lock"} | ({"killed"} if words else set())


def test_a_node_that_was_never_measured_has_nothing_to_remove(tmp_path: Path) -> None:
    play(tmp_path, tmp_path / "nowhere", "--check")
