"""The weight of a page, without a browser."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from clusterctl.report.page import render_page
from pages.goals import GOALS, Goal
from support.big_report import big_report


class Counter(HTMLParser):
    """Counts elements as a browser does: those in a template are not in the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements = 0
        self._templates = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements += not self._templates
        self._templates += tag == "template"

    def handle_endtag(self, tag: str) -> None:
        self._templates -= tag == "template"


@pytest.mark.parametrize("goal", GOALS, ids=lambda g: f"{g.nodes} nodes")
def test_a_page_is_as_small_as_promised(goal: Goal) -> None:
    html = render_page(big_report(goal.nodes))
    assert len(html.encode()) <= goal.size
    assert Counter(html).elements <= goal.elements
