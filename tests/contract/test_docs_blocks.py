"""No code block of README and docs goes untested by accident: each is run, or names what runs it, or says why nothing can."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from support.doc_blocks import GENERATED, MARKS, PAGES, SHELL, TESTED, Block, all_blocks, blocks_of, clusterctl_calls
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

BLOCKS = [pytest.param(b, id=b.name) for b in all_blocks()]
NEEDS_A_TEST = [pytest.param(b, id=b.name) for b in all_blocks() if b.language in TESTED]
RUN_BY_A_TEST = [pytest.param(b, id=b.name) for b in all_blocks() if b.marks.get("runs-in", "lab") != "lab"]


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_names_its_language_and_has_marks_that_exist(block: Block) -> None:
    assert block.language in (*TESTED, "text"), "a block has a language; what a program prints is `text`"
    assert set(block.marks) <= set(MARKS)
    assert block.marks.get("in") in (None, "checkout", "new folder")


@pytest.mark.parametrize("block", NEEDS_A_TEST)
def test_a_block_is_run_or_marked(block: Block) -> None:
    assert block.runs_here or {"runs-in", "not-run"} & set(block.marks), "mark it: see tests/support/doc_blocks.py"
    assert len(block.marks.get("not-run", "because of this")) > 10, "not-run needs a reason"


@pytest.mark.parametrize("block", RUN_BY_A_TEST)
def test_the_test_that_a_block_names_runs_its_verbs_with_their_options(block: Block) -> None:
    text = "".join((ROOT / test).read_text() for test in block.marks["runs-in"].split(" and "))
    if block.page.name in text:
        return  # it runs the page itself
    words = {w for c in block.commands if block.language in SHELL for call in clusterctl_calls(c.text) for w in _fixed_words(call)}
    assert {w for w in words if f'"{w}"' not in text} == set()


def _fixed_words(call: list[str]) -> list[str]:
    """The verb, and the options."""
    return [call[1], *(w.split("=")[0] for w in call if w.startswith("-"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_code_is_fenced(page: Path) -> None:
    """An indented block has no language, so nothing shows how it is tested; generated pages show syntax in them."""
    text = page.read_text()
    if text.startswith(GENERATED):
        return
    for block in blocks_of(page):
        text = text.replace(block.text, "")
    assert re.findall(r"^ {4}\S.*", text, re.MULTILINE) == []


def test_make_targets_and_scripts_of_blocks_exist() -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = "\n".join(c.text for b in all_blocks() if b.language in SHELL for c in b.commands)
    assert set(re.findall(r"^make ([a-z0-9-]+)", text, re.MULTILINE)) - targets == set()
    assert [s for s in re.findall(r"\b(?:scripts|playbooks|benchmarks|tests)/[\w./-]+", text) if not (ROOT / s).exists()] == []
