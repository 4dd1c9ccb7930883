"""Messages, docstrings and comments use the terms of the field: the words of `words.yml` are in none of them."""

from __future__ import annotations

import ast
import re
import subprocess
import tokenize
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CASES: dict[str, Any] = yaml.safe_load((ROOT / "tests/contract/words.yml").read_text())
INSTEAD: dict[str, str] = {entry["word"]: entry["instead"] for entry in CASES["words"]}
# Neither an option (`--ask-pool`), nor a name in backticks, nor a field that a docstring describes (`asked: how many`).
WORDS = re.compile(rf"(?<![\w`-])(?:{'|'.join(f'(?:{word})' for word in INSTEAD)})(?![\w`:-])", re.IGNORECASE)
PYTHON = ("cli", "lab", "tools", "validators", "on_node", "plugins", "scripts", "benchmarks")
YAML = ("cli", "roles", "inventory", "playbooks", "contrib")


def tracked(folders: tuple[str, ...], *suffixes: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "--", *folders], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [path for path in map(ROOT.joinpath, listed.splitlines()) if path.suffix in suffixes and path.is_file()]


def found_in(text: str) -> list[str]:
    return [match[0] for match in WORDS.finditer(" ".join(text.split()))]


def python_texts(path: Path) -> Iterator[str]:
    """Docstrings, messages and comments; a string without a blank is a name, not a sentence."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield node.value
    with tokenize.open(path) as file:
        yield from (token.string for token in tokenize.generate_tokens(file.readline) if token.type == tokenize.COMMENT)


def breaches(path: Path, texts: Iterator[str]) -> list[str]:
    return [f"{path.relative_to(ROOT)}: {word!r} in {' '.join(text.split())[:160]!r}" for text in texts for word in found_in(text)]


def test_python_code_uses_none_of_the_words() -> None:
    assert [line for path in tracked(PYTHON, ".py") for line in breaches(path, python_texts(path))] == [], INSTEAD


def test_roles_and_inventory_use_none_of_the_words() -> None:
    paths = tracked(YAML, ".yml", ".yaml", ".j2")
    assert [line for path in paths for line in breaches(path, iter(path.read_text().splitlines()))] == [], INSTEAD


@pytest.mark.parametrize("case", CASES["sentences"], ids=lambda c: str(c["text"]))
def test_the_words_are_found_in_sentences(case: dict[str, Any]) -> None:
    assert sorted(found_in(case["text"])) == sorted(case["found"])
