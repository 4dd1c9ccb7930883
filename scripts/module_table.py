"""docs/reference/modules.md: every module of the CLI with the first line of its docstring; `--check` fails where it is stale."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CLI = ROOT / "cli" / "clusterctl"
PAGE = ROOT / "docs" / "reference" / "modules.md"
FLOORS = ("commands", "terminal", "report", "workflows", "adapters", "core", "model")
HEAD = """<!-- Written by scripts/module_table.py from the docstrings of cli/clusterctl. -->

# Modules of the CLI

One line per module, floor by floor, from the top. A module imports its own package and floors below it ([architecture](../explanation/architecture.md)).
"""


def main(argv: list[str]) -> int:
    """Write the page, or with `--check` report whether it is stale."""
    text = page()
    stale = not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text
    if stale and "--check" not in argv:
        PAGE.write_text(text, encoding="utf-8")
    if stale:
        print(f"{'stale' if '--check' in argv else 'wrote'}: {PAGE.relative_to(ROOT)}")
    return int("--check" in argv and stale)


def page() -> str:
    """The whole text of the page."""
    parts = [HEAD]
    for floor in FLOORS:
        files = sorted((CLI / floor).rglob("*.py"), key=lambda p: (p.parent.as_posix(), p.name != "__init__.py", p.name))
        rows = [_row(p, floor) for p in files[1:] if "migrations" not in p.parts and _summary(p)]
        parts.append(f"\n## {floor}\n\n{_summary(files[0])}\n\n| module | |\n|---|---|\n{''.join(rows)}")
    return "".join(parts)


def _row(file: Path, floor: str) -> str:
    name = (file.parent if file.name == "__init__.py" else file).relative_to(CLI / floor).as_posix()
    return f"| {name} | {_summary(file).replace('|', '/')} |\n"


def _summary(file: Path) -> str:
    """The first line of a module's docstring."""
    return (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").partition("\n")[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
