"""Folders that killed burn-ins left on a node go with the next one; those of a run that may still be at work stay."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from support.local_play import run_play
from support.roles import ROOT

LIMIT_S = 600


def play(tmp_path: Path, folder: Path, *words: str, **variables: str) -> None:
    tasks = [{"ansible.builtin.include_tasks": str(ROOT / "roles/burnin/tasks/stale.yml")}]
    variables = {"__burnin_imex_channel": str(tmp_path / "none"), **variables}
    done = run_play(tmp_path, tasks, *words, variables={"burnin_agent_dir": str(folder), "burnin_limit_s": LIMIT_S, **variables})
    assert done.code == 0, done.output


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


@pytest.mark.parametrize(
    ("made_in_boot", "stays"),
    [(Path("/proc/sys/kernel/random/boot_id").read_text(), False), ("of another boot\n", True), ("", True)],
    ids=["this_boot", "another_boot", "not_by_the_run"],
)
def test_the_imex_channel_of_a_killed_run_goes_with_its_folder(tmp_path: Path, made_in_boot: str, stays: bool) -> None:
    """What a prolog made, or a later boot, is not the run's."""
    folder, channel = tmp_path / "burnin", tmp_path / "channel0"
    channel.write_text("")
    (folder / "killed").mkdir(parents=True)
    if made_in_boot:
        (folder / "killed" / "imex_channel").write_text(made_in_boot)
    os.utime(folder / "killed", (time.time() - 2 * LIMIT_S,) * 2)
    play(tmp_path, folder, __burnin_imex_channel=str(channel))
    assert (channel.exists(), (folder / "killed").exists()) == (stays, False)
