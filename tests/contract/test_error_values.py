"""Every value that an error is made with is shown: one that neither its text nor its hint has a place for would be lost without a word."""

from __future__ import annotations

import ast
import inspect
from string import Formatter

import pytest

from clusterctl.model import errors
from clusterctl.model.errors import ClusterctlError
from support.roles import ROOT

# Kept as an attribute, of which the class makes its text.
_ATTRIBUTES = {"problems", "items"}
CLASSES = {name: found for name, found in vars(errors).items() if inspect.isclass(found) and issubclass(found, ClusterctlError)}


def places_of(error: type[ClusterctlError]) -> set[str]:
    return {field for text in (error.template, error.hint_template) for _, field, _, _ in Formatter().parse(text) if field}


def made(source: str) -> list[tuple[int, str, set[str]]]:
    """Line, class and values of each error that is made with named values."""
    calls = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in CLASSES]
    found = [(c.lineno, ast.unparse(c.func), {k.arg for k in c.keywords}) for c in calls]
    return [(line, name, {v for v in values if v}) for line, name, values in found if None not in values]


@pytest.mark.parametrize("root", ["cli", "lab"])
def test_each_value_has_a_place_and_each_place_a_value(root: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}: {sorted(values ^ places_of(CLASSES[name]))}"
        for path in sorted((ROOT / root).rglob("*.py"))
        for line, name, values in made(path.read_text())
        if (values ^ places_of(CLASSES[name])) - _ATTRIBUTES
    ]
    assert wrong == []


def test_a_lost_hint_is_found() -> None:
    ((_, name, values),) = made("raise StaleTokenError(shard_id=1, token=2, newest=3, hint='x')")
    assert values ^ places_of(CLASSES[name]) == {"hint"}
