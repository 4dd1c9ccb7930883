"""docs/reference/modules.md: every module of the CLI and every tool with the first line of its docstring; `--check` fails where it is stale."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

from generated_files import ROOT, write_or_check

if TYPE_CHECKING:
    from pathlib import Path

CLI = ROOT / "cli" / "clusterctl"
TOOLS = ROOT / "tools" / "clusterctl_tools"
PAGE = ROOT / "docs" / "reference" / "modules.md"
FLOORS = ("commands", "terminal", "report", "workflows", "adapters", "core", "model")
HEAD = """<!-- Written by scripts/module_table.py from the docstrings of cli/clusterctl and tools/clusterctl_tools. -->

# Modules

One line per module of the CLI, floor by floor, from the top, then the tools that all parts share. A module imports its own package and floors below it ([architecture](../explanation/architecture.md)).
"""


def main(argv: list[str]) -> int:
    """Write the page, or with `--check` report whether it is stale."""
    return write_or_check({PAGE: page()}, argv)


def page() -> str:
    """The whole text of the page."""
    parts = [HEAD]
    for title, folder in (*((floor, CLI / floor) for floor in FLOORS), ("tools", TOOLS)):
        files = sorted(folder.rglob("*.py"), key=lambda p: (p.parent.as_posix(), p.name != "__init__.py", p.name))
        rows = [_row(p, folder) for p in files[1:] if "migrations" not in p.parts and _summary(p)]
        parts.append(f"\n## {title}\n\n{_summary(files[0])}\n\n| module | |\n|---|---|\n{''.join(rows)}")
    return "".join(parts)


def _row(file: Path, folder: Path) -> str:
    name = (file.parent if file.name == "__init__.py" else file).relative_to(folder).as_posix()
    return f"| {name} | {_summary(file).replace('|', '/')} |\n"


def _summary(file: Path) -> str:
    """The first line of a module's docstring."""
    return (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").partition("\n")[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
