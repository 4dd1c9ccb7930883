"""Names that tasks register: a task that is skipped registers its name, too, and so replaces what another one has read.

Law: of two tasks that register one name, the later one is skipped only where the earlier one is. What is needed less often is in a file that is included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROLES = sorted(p.parents[1] for p in (ROOT / "roles").glob("*/tasks/main.yml"))
IMPORT, INCLUDE = "ansible.builtin.import_tasks", "ansible.builtin.include_tasks"


@dataclass(frozen=True)
class Registering:
    """A task that registers a name.

    Attributes:
        conditions: that skip it: its own, and those of what imports it, up to the file that is included.
    """

    name: str
    file: Path
    task: str
    conditions: tuple[str, ...]


def registering(file: Path, conditions: tuple[str, ...] = (), above: tuple[Path, ...] = ()) -> Iterator[Registering]:
    """Every task of a file, and of those that it imports and includes, in their order."""
    yield from _of_tasks(load_yaml(file.read_text()) or [], file, conditions, (*above, file))


def _of_tasks(tasks: list[dict[str, Any]], file: Path, outer: tuple[str, ...], above: tuple[Path, ...]) -> Iterator[Registering]:
    for task in tasks:
        own = task.get("when", [])
        conditions = (*outer, *(str(c) for c in (own if isinstance(own, list) else [own])))
        for part in ("block", "rescue", "always"):
            yield from _of_tasks(task.get(part, []), file, conditions, above)
        if "register" in task:
            yield Registering(task["register"], file, task.get("name", ""), conditions)
        for keyword in (IMPORT, INCLUDE):
            for other in _files(task.get(keyword), file):
                if other not in above:
                    yield from registering(other, conditions if keyword == IMPORT else (), above)


def _files(named: Any, file: Path) -> list[Path]:
    """The files that an import or include names; all that match where the name has variables."""
    name = named.get("file", "") if isinstance(named, dict) else named or ""
    before, braces, _ = name.partition("{{")
    if not braces:
        return [(file.parent / name).resolve()] if name else []
    return sorted(p.resolve() for p in file.parent.glob(f"{before}*{name.rpartition('}}')[2]}"))


def replaced(tasks: list[Registering]) -> list[str]:
    """What breaks the law."""
    seen: dict[str, Registering] = {}
    found = []
    for task in tasks:
        first = seen.setdefault(task.name, task)
        if set(task.conditions) - set(first.conditions):
            found.append(f"{task.name}: {task.file.name}, {task.task}, after {first.file.name}, {first.task}")
    return found


@pytest.mark.parametrize("role", ROLES, ids=lambda p: p.name)
def test_no_task_that_may_be_skipped_replaces_what_another_has_read(role: Path) -> None:
    assert replaced(list(registering((role / "tasks" / "main.yml").resolve()))) == []


def test_the_tasks_of_imported_and_included_files_are_found() -> None:
    names = {t.name for t in registering((ROOT / "roles" / "nvidia_driver" / "tasks" / "main.yml").resolve())}
    assert {"__shared_listed", "__shared_database", "__nvidia_driver_modinfo"} <= names


@pytest.mark.parametrize(
    ("how", "own", "broken"),
    [(IMPORT, "x", True), (IMPORT, None, False), (INCLUDE, "x", False)],
)
def test_a_conditional_import_breaks_it_and_an_include_does_not(tmp_path: Path, how: str, own: str | None, broken: bool) -> None:
    read = {"name": "Read", "ansible.builtin.command": "true", "register": "found"}
    (tmp_path / "read.yml").write_text(yaml.safe_dump([read]))
    again = {"name": "Read again", how: "read.yml", **({"when": own} if own else {})}
    (tmp_path / "main.yml").write_text(yaml.safe_dump([{"name": "Read it", IMPORT: "read.yml"}, again]))
    assert bool(replaced(list(registering(tmp_path / "main.yml")))) is broken
