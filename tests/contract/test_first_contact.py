"""Every row of what a first real rack would have broken: the law, its source, and the tests that fail without it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import pytest

from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

CASES = sorted((ROOT / "tests" / "cases" / "first_contact").glob("*/case.yml"))
RECORDED = ROOT.parent / "shared" / "recorded"
ROWS = range(19)
FIELDS = {"row", "law", "source", "tests", "recorded"}


def case_of(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = load_yaml(path.read_text())
    return found


def functions_of(path: Path) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_row_has_a_case() -> None:
    assert {case_of(path)["row"] for path in CASES} == set(ROWS)


@pytest.mark.parametrize("path", CASES, ids=lambda p: p.parent.name)
def test_a_case_names_its_law_its_source_and_tests_that_exist(path: Path) -> None:
    case = case_of(path)
    assert set(case) <= FIELDS
    assert path.parent.name.startswith(f"{case['row']:02}_")
    assert case["law"]
    assert case["source"]
    assert case["tests"]
    for test in case["tests"]:
        name, _, function = test.partition("::")
        assert (ROOT / name).is_file(), test
        assert function in functions_of(ROOT / name), test


@pytest.mark.skipif(not RECORDED.is_dir(), reason="no recordings beside this checkout")
@pytest.mark.parametrize("path", CASES, ids=lambda p: p.parent.name)
def test_its_recordings_exist(path: Path) -> None:
    assert [name for name in case_of(path).get("recorded", []) if not (RECORDED / name).is_file()] == []
