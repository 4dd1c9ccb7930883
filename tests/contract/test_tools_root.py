"""The import root `tools` travels everywhere: to old Pythons on nodes, into the collection, into the wheel. So it needs nothing but Python."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

import pytest

from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = ROOT / "tools" / "clusterctl_tools"
MODULES = sorted(PACKAGE.glob("*.py"))


@pytest.mark.parametrize("module", MODULES, ids=[m.stem for m in MODULES])
def test_a_tool_needs_the_standard_library_of_python_38(module: Path) -> None:
    tree = ast.parse(module.read_text(), feature_version=(3, 8))
    roots = {a.name.partition(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    roots |= {(n.module or "").partition(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and not n.level}
    assert roots <= sys.stdlib_module_names


def test_a_tool_is_a_file_of_one_folder() -> None:
    assert [p for p in PACKAGE.rglob("*.py") if p.parent != PACKAGE] == []


def test_the_collection_has_all_tools() -> None:
    link = ROOT / "plugins" / "module_utils" / PACKAGE.name
    assert link.is_symlink()
    assert link.resolve() == PACKAGE
