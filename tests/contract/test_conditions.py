r"""Conditions of tasks: Jinja reads `'\b'` in them as a backspace, so a pattern with a word boundary never matches. In templates, Ansible doubles backslashes first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

FILES = sorted(p for top in ("roles", "playbooks") for p in (ROOT / top).rglob("*.yml") if "collections" not in p.parts)
CONDITIONS = {"when", "that", "failed_when", "changed_when", "until"}
# What Jinja takes for a character, but for the line break and the tab, which no pattern means otherwise.
TAKEN = re.compile(r"(?<!\\)\\[abfv0-7xuUN]")


def conditions(value: Any) -> Iterator[str]:
    """Every condition in a document."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in CONDITIONS:
                yield from (str(text) for text in (inner if isinstance(inner, list) else [inner]))
            yield from conditions(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from conditions(inner)


@pytest.mark.parametrize("file", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_condition_has_an_escape_that_jinja_takes(file: Any) -> None:
    found = [text for text in conditions(load_yaml(file.read_text())) if TAKEN.search(text)]
    assert found == []


def test_a_word_boundary_is_found() -> None:
    assert [
        text for text in conditions([{"when": r"x is search('\bman:')", "that": [r"y is search('\\bman:')"]}]) if TAKEN.search(text)
    ] == [r"x is search('\bman:')"]
