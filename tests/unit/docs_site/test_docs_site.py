"""The documentation as a site: it needs no network, tables wrap, and it reads well on a phone and in the dark."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pages.measure import BROKEN_WORDS, FAINT
from support.browser import MISSING, browser, program
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

PAGES = ("index.html", "reference/configuration/index.html", "reference/gates/index.html", "how-to/first-rack/index.html")
PHONE = 390
_FROM_ELSEWHERE = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=["']?(?:https?:)?//[^>]*>""")
# What is wider than the page and cannot be scrolled to.
_CUT_OFF = """
() => [...document.querySelectorAll('.rst-content td, .rst-content p, .rst-content li')]
  .filter(one => one.checkVisibility() && one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('.wy-table-responsive, pre'))
  .map(one => one.textContent.slice(0, 40))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "site"
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 50
    found = {str(p.relative_to(site)): _FROM_ELSEWHERE.findall(p.read_text(encoding="utf-8")) for p in pages}
    assert {page: tags for page, tags in found.items() if tags} == {}


@pytest.mark.parametrize("tag", ['<script src="https://cdn.example/x.js">', "<link rel=stylesheet href=//cdn.example/x.css>"])
def test_a_tag_that_loads_from_elsewhere_is_seen(tag: str) -> None:
    assert _FROM_ELSEWHERE.findall(tag) == [tag]


@pytest.mark.skipif(program() is None, reason=MISSING)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, 1280])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_reads_well(chromium: Browser, site: Path, name: str, width: int, scheme: str) -> None:
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme="dark" if scheme == "dark" else "light")
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / name).as_uri())
    assert [url for url in asked if not url.startswith("file:")] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(_CUT_OFF) == []
    assert width == PHONE or page.evaluate(BROKEN_WORDS) == [], "there, a path that is longer than a line must break"
    assert page.evaluate(FAINT) == []
    context.close()
