"""Every page is in the index, and its links and paths exist. Anchors and the site: tests/unit/docs_site."""

from __future__ import annotations

import re
import runpy
from typing import TYPE_CHECKING

import pytest

from support.doc_blocks import PAGES, blocks_of
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

DOCS = ROOT / "docs"
TREE = {p.name for p in ROOT.iterdir() if p.is_dir() and not p.name.startswith(".")} - {"build", "dist", "site"}
INVENTORIES = tuple(f"inventory/{p.name}" for p in (ROOT / "inventory").iterdir())
PATH = re.compile(r"^[\w.<>*-]+(?:/[\w.<>*-]+)+/?$")


def code_words(page: Path) -> set[str]:
    """The words of inline code and of shell blocks."""
    text = page.read_text()
    spans = re.findall(r"`([^`\n]+)`", text) + re.findall(r"```(?:sh|console)\n(.*?)```", text, re.DOTALL)
    return {word.strip(",;:'\"()") for span in spans for word in span.split()}


def paths_of(page: Path) -> list[str]:
    """The paths of this tree that a page names; placeholders become globs."""
    words = {w for w in code_words(page) if PATH.match(w)}
    in_its_site = {b.file.split("/")[0] for b in blocks_of(page) if b.file} - {"inventory"}
    of_a_site = {w for w in words if w.startswith("inventory/") and not w.startswith(INVENTORIES)}
    of_a_site |= {w for w in words if w.split("/")[0] in in_its_site}
    named = {w for w in words - of_a_site if w.split("/")[0] in TREE or w.endswith(".py")}
    return sorted(re.sub(r"<\w+>|(?<![a-z])[A-Z]{2,}(?![a-z])", "*", w.rstrip("/")) for w in named)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_paths_of_the_tree_that_a_page_names_exist(page: Path) -> None:
    assert [p for p in paths_of(page) if not any(ROOT.glob(p)) and not any(ROOT.glob(f"roles/*/{p}"))] == []


def test_pages_name_paths() -> None:
    assert "cli/clusterctl/core/lifecycle.py" in paths_of(DOCS / "explanation" / "lifecycle.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())
    assert [t for t in targets if "://" not in t and not (page.parent / t).exists()] == []


def test_the_index_names_every_page() -> None:
    named = set(re.findall(r"\]\(([^)#]+\.md)\)", (DOCS / "index.md").read_text()))
    assert named == {p.relative_to(DOCS).as_posix() for p in DOCS.rglob("*.md")} - {"index.md"}


def test_the_navigation_names_every_page_once() -> None:
    """Pages that no toctree names end the build of the site, which only the slow suite runs."""
    groups: dict[str, tuple[str, ...]] = runpy.run_path(str(DOCS / "conf.py"))["NAVIGATION"]
    named = [page for pages in groups.values() for page in pages]
    assert sorted(named) == sorted(p.relative_to(DOCS).with_suffix("").as_posix() for p in DOCS.rglob("*.md") if p != DOCS / "index.md")
