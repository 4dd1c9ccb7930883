"""The documentation as a site: no link is broken, it needs no network, it is searched without a server, and it reads well on a phone and in the dark."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest

from pages.measure import BROKEN_WORDS, FAINT
from support.browser import MISSING, browser, program
from support.docs_site import build_site
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

PAGES = ("index.html", "reference/configuration.html", "reference/gates.html", "how-to/first-rack.html")
PHONE = 390
_FROM_ELSEWHERE = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=["']?(?:https?:)?//[^>]*>""")
# What is wider than the page and cannot be scrolled to.
_CUT_OFF = """
() => [...document.querySelectorAll('article td, article p, article li')]
  .filter(one => one.checkVisibility() && one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('.table-wrapper, pre'))
  .map(one => one.textContent.slice(0, 40))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "site"
    done = build_site(folder)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


def test_a_broken_link_or_anchor_or_a_page_without_a_place_ends_the_build(tmp_path: Path) -> None:
    pages = tmp_path / "docs"
    shutil.copytree(ROOT / "docs" / "assets", pages / "assets")
    (pages / "conf.py").write_text((ROOT / "docs" / "conf.py").read_text() + '\nNAVIGATION = {"Start": ("tutorial",)}\n')
    (pages / "index.md").write_text("# Index\n\n[a page](tutorial.md#there), [no file](gone.md), [no anchor](tutorial.md#not-there)\n")
    (pages / "tutorial.md").write_text("# Tutorial\n\n## There\n")
    (pages / "lost.md").write_text("# Lost\n")
    done = build_site(tmp_path / "site", pages)
    assert done.returncode == 1
    assert len(re.findall("WARNING", done.stderr)) == 3
    for defect in ("'gone.md'", "'not-there'", "lost.md: WARNING: document isn't included in any toctree"):
        assert defect in done.stderr


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
@pytest.mark.parametrize("width", [PHONE, 1280, 1600])
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


@pytest.mark.skipif(program() is None, reason=MISSING)
def test_the_search_works_without_a_server(chromium: Browser, site: Path) -> None:
    page = chromium.new_page()
    page.goto(f"{(site / 'search.html').as_uri()}?q=quarantined")
    page.wait_for_selector("#search-results li a")
    assert "how-to/quarantined-node.html" in " ".join(
        a.get_attribute("href") or "" for a in page.query_selector_all("#search-results li a")
    )
    page.close()
