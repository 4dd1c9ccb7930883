"""No module of the lab imports itself through others, imports for types included."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

LAB = ROOT / "lab" / "clusterctl_lab"
FILES = {f"clusterctl_lab.{'.'.join(p.relative_to(LAB).with_suffix('').parts)}".removesuffix(".__init__"): p for p in LAB.rglob("*.py")}


def imported_modules(name: str, path: Path) -> set[str]:
    """The modules of the lab that a module imports, inside functions and for types, too."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(filter(None, (package if node.level else "", node.module)))
            submodules = {f"{base}.{a.name}" for a in node.names} & FILES.keys()
            found |= submodules or {base}
    return found & FILES.keys() - {name}


def test_imports_have_an_order() -> None:
    graph = {name: imported_modules(name, path) for name, path in FILES.items()}
    assert any(graph.values())
    TopologicalSorter(graph).prepare()
