"""What the shared package tasks start: on a node in its declared state nothing but the list; dpkg-query and the package manager are scripts that record their calls."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from support.local_play import run_play
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PACKAGES = [{"name": "a", "version": "1"}]
TASKS = [
    {"ansible.builtin.set_fact": {"ansible_facts": {"os_family": "Debian"}}},
    {
        "ansible.builtin.include_tasks": str(ROOT / "roles" / "shared" / "tasks" / "packages.yml"),
        "vars": {"shared_packages": PACKAGES, "shared_packages_hold": True},
    },
]
LISTED = "dpkg-query list"
CHECK = "apt-get check"
SCRIPT = """#!/bin/sh
case "$(basename "$0") $1" in
  "dpkg-query -W") echo "{listed}" >> {log}; cat {folder}/listed ;;
  "apt-get check") echo "{check}" >> {log} ;;
  *) echo "$(basename "$0") $*" >> {log}; [ "$(basename "$0")" != dpkg ] || printf 'a\\t1\\thold\\tinstalled\\n' > {folder}/listed ;;
esac
"""


def started(folder: Path, listed: str, *words: str) -> tuple[int, int, list[str]]:
    """Exit status, changed tasks, and what was started, for a node with this package list."""
    log = folder / "calls"
    log.touch()
    (folder / "listed").write_text(listed)
    for name in ("dpkg-query", "apt-get", "dpkg", "apt-mark"):
        (folder / name).write_text(SCRIPT.format(log=log, folder=folder, listed=LISTED, check=CHECK))
        (folder / name).chmod(0o755)
    variables: dict[str, Any] = {"packages_wait_s": 5}
    done = run_play(folder, TASKS, *words, variables=variables, environment={"PATH": f"{folder}:{os.environ['PATH']}"})
    return done.code, done.changed, log.read_text().splitlines()


def test_where_nothing_differs_the_list_is_all_that_is_read(tmp_path: Path) -> None:
    assert started(tmp_path, "a\t1\thold\tinstalled\n") == (0, 0, [LISTED])


def test_a_missing_hold_needs_no_look_at_the_database(tmp_path: Path) -> None:
    assert started(tmp_path, "a\t1\tinstall\tinstalled\n") == (0, 1, [LISTED, "apt-mark hold a"])


def test_before_an_installation_the_database_is_checked_and_the_packages_are_listed_again(tmp_path: Path) -> None:
    code, changed, calls = started(tmp_path, "a\t0\thold\tinstalled\n", "--check")
    assert (code, calls) == (0, [LISTED, CHECK, LISTED])
    assert changed == 1


@pytest.mark.parametrize("state", ["half-installed", "half-configured", "unpacked"])
def test_a_package_of_another_that_was_interrupted_is_a_reason_to_repair(tmp_path: Path, state: str) -> None:
    _, _, calls = started(tmp_path, f"a\t1\thold\tinstalled\nother\t1\tinstall\t{state}\n")
    assert calls[:2] == [LISTED, CHECK]


def test_a_removed_package_is_no_interruption(tmp_path: Path) -> None:
    assert started(tmp_path, "a\t1\thold\tinstalled\nother\t1\tdeinstall\tconfig-files\n") == (0, 0, [LISTED])
