"""Every document that a verb prints has one published schema."""

from __future__ import annotations

import ast
import json
from typing import Any

from support.roles import ROOT

SOURCES = [p for folder in ("cli/clusterctl", "lab/clusterctl_lab") for p in (ROOT / folder).rglob("*.py")]
SCHEMAS = ROOT / "docs" / "reference" / "schemas"
# Function -> place of the kind in its arguments.
PRINTERS = {"emit": 1, "emit_document": 1, "emit_parts": 1, "envelope": 0, "show_results": 0}


def printed_kinds() -> set[str]:
    """The kinds that code names where it prints a document."""
    calls = [n for p in SOURCES for n in ast.walk(ast.parse(p.read_text())) if isinstance(n, ast.Call)]
    named = [(c, getattr(c.func, "attr", getattr(c.func, "id", ""))) for c in calls]
    kinds = [c.args[PRINTERS[name]] for c, name in named if name in PRINTERS and len(c.args) > PRINTERS[name]]
    return {str(k.value) for k in kinds if isinstance(k, ast.Constant)}


def published_kinds() -> list[str]:
    """The kinds that schemas allow."""
    found: list[str] = []
    for file in SCHEMAS.glob("*.schema.json"):
        kind: dict[str, Any] = json.loads(file.read_text())["properties"].get("kind", {})
        found += [kind["const"]] if "const" in kind else kind.get("enum", [])
    return found


def test_code_that_prints_documents_is_found() -> None:
    assert {"status", "judge", "burnin", "validation", "drain", "lab-status"} <= printed_kinds()


def test_every_printed_document_has_one_schema() -> None:
    published = published_kinds()
    assert sorted(printed_kinds()) == sorted(published)
