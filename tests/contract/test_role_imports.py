"""A file of a role that always runs is imported: an include is a task of its own, for which Ansible forks a process on every node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

FILES = sorted(path.relative_to(ROOT) for path in (ROOT / "roles").glob("*/tasks/*.yml"))
INCLUDE = "ansible.builtin.include_tasks"
# What decides at run time whether, how often or which file runs.
DECIDED_LATER = ("when", "loop", "with_items", "until")


def unconditional(tasks: list[dict[str, Any]]) -> Iterator[str]:
    for task in tasks:
        if any(key in task for key in DECIDED_LATER):
            continue
        for part in ("block", "rescue", "always"):
            yield from unconditional(task.get(part, []))
        target = task.get(INCLUDE)
        if isinstance(target, str) and "{{" not in target:
            yield target


@pytest.mark.parametrize("file", FILES, ids=str)
def test_what_always_runs_is_imported(file: Any) -> None:
    assert list(unconditional(load_yaml((ROOT / file).read_text()) or [])) == []


def test_the_law_finds_an_include_in_a_block_and_leaves_what_is_decided_later() -> None:
    tasks: list[dict[str, Any]] = [
        {"block": [{INCLUDE: "a.yml"}], "always": [{INCLUDE: "b.yml"}]},
        {INCLUDE: "c.yml", "when": "x"},
        {"when": "x", "block": [{INCLUDE: "d.yml"}]},
        {INCLUDE: "{{ e }}.yml"},
        {INCLUDE: "f.yml", "loop": [1]},
    ]
    assert list(unconditional(tasks)) == ["a.yml", "b.yml"]
