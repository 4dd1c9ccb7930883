"""The structure of the package: few modules at its root, and no name with two meanings."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import pytest

from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = ROOT / "cli" / "clusterctl"
MODULES = sorted(p for p in PACKAGE.rglob("*.py") if "migrations" not in p.parts)
# One name by contract: each verb's module has a `command`, each tool's parser a `parse`.
PROTOCOLS = {"command": "commands/", "parse": "core/parsers/"}


def floor(path: Path) -> str:
    """The floor of a module. The inventory worker and the parsers count as floors: the worker is a separate process, and a parser has the name of its tool, as a gate may have."""
    parts = path.relative_to(PACKAGE).parts
    return next((p for p in ("ansible_worker", "parsers") if p in parts), parts[0])


def names() -> dict[str, list[str]]:
    """Name of a public class or function -> the modules that define it."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        relative = path.relative_to(PACKAGE).as_posix()
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("_"):
                continue
            if not relative.startswith(PROTOCOLS.get(node.name, "\0")):
                found[node.name].append(relative)
    return found


def test_no_two_classes_or_functions_share_a_name() -> None:
    assert {name: where for name, where in names().items() if len(where) > 1} == {}


@pytest.mark.parametrize("folder", ["cli", "lab", "on_node", "plugins", "roles", "tools", "validators", "scripts", "benchmarks", "tests"])
def test_a_module_binds_each_of_its_names_once(folder: str) -> None:
    """Two changes that are merged can each bring a constant of one name; the first then has the value of the second."""
    found = {path.relative_to(ROOT).as_posix(): twice for path in (ROOT / folder).rglob("*.py") if (twice := bound_twice(path))}
    assert found == {}


def bound_twice(path: Path) -> list[str]:
    targets = [
        name.id
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for name in ast.walk(target)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    ]
    return sorted(name for name, number in Counter(targets).items() if number > 1)


def test_no_two_modules_of_a_floor_share_a_name() -> None:
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in MODULES:
        if not path.stem.startswith("__"):
            found[floor(path), path.stem].append(path.relative_to(PACKAGE).as_posix())
    assert {key: where for key, where in found.items() if len(where) > 1} == {}


def test_few_modules_lie_at_the_root_of_the_package() -> None:
    assert sorted(p.name for p in PACKAGE.glob("*.py")) == ["__init__.py", "__main__.py", "main.py"]
