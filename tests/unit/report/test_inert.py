"""Whatever a node says is shown: in HTML it is not markup, in a script element it is data, and nowhere a control character."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clusterctl.report.inert import inert_json, visible
from clusterctl.report.page import render_page
from clusterctl.report.templating import environment
from support.big_report import big_report

if TYPE_CHECKING:
    from clusterctl.model.run_report import RunReport

HOSTILE = (
    "</script>",
    "</SCRIPT\t>",
    "<!--<script>",
    "-->",
    "]]>",
    '"><img src=x onerror=alert(1)>',
    "\x1b[2J\x1b]0;title\x07",
    "\u202egpj.exe",
    "\u2028\u2029",
    "\x00",
    "\ud800",
    "{{ 7*7 }}{% raw %}",
    "&lt;script&gt;",
    "' onmouseover='alert(1)",
    "`</code><script>`",
    "javascript:alert(1)",
)
TEXT = st.text(max_size=40) | st.sampled_from(HOSTILE) | st.lists(st.sampled_from(HOSTILE), max_size=4).map("".join)


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, tuple[str, ...]]] = []
        self.comments: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in {"wbr", "code"}:
            self.seen.append((tag, tuple(name for name, _ in attrs)))

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


@given(st.recursive(TEXT | st.integers() | st.none(), lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4)))
def test_data_is_the_same_data_and_cannot_end_its_element(value: object) -> None:
    text = inert_json(value)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == value


@given(TEXT)
@example("\x1b[2J")
def test_no_control_character_is_left(text: str) -> None:
    assert [c for c in visible(text) if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and c != "\n"] == []


@given(TEXT.filter(bool))
def test_a_row_has_the_same_markup_whatever_it_says(said: str) -> None:
    row = environment().from_string(
        "{% from 'row.html.j2' import row %}{{ row('fail', t, t, false, t, '', t or 'x', t or 'x', t or 'x', t or 'x', t or 'x') }}"
    )
    found, plain = Tags(row.render(t=said)), Tags(row.render(t="word"))
    assert found.seen == plain.seen
    assert found.comments == []


def spoiled(report: RunReport, said: str) -> RunReport:
    """The report with this text in everything that a node or a person can write."""
    first = report.sections[3]
    assert first.findings is not None
    section = replace(
        first,
        reason=said,
        record=replace(first.record, profile=said),
        findings=replace(first.findings, findings=tuple(replace(f, found=said, reason=said) for f in first.findings.findings[:5])),
        gate_results=tuple(replace(g, found=said, detail=said, hint=said or "x", device=said) for g in first.gate_results[:5]),
    )
    run = replace(report.run, target=said, operator=said, argv=("clusterctl", said), versions={said: said})
    own = [replace(c, series=replace(c.series, device=said, unit=said, tool_version=said)) for c in report.curves.drawn]
    report = replace(report, curves=replace(report.curves, drawn=tuple(own)))
    return replace(report, run=run, sections=(*report.sections[:3], section, *report.sections[4:]))


@settings(max_examples=25)
@given(TEXT)
@example("".join(HOSTILE))
def test_a_page_has_the_same_scripts_whatever_a_node_says(said: str) -> None:
    html = render_page(spoiled(big_report(6), said))
    html.encode()
    found = Tags(html)
    assert [a for t, a in found.seen if t == "script"] == [("type", "id"), ("type", "id"), ()]
    assert [(t, a) for t, a in found.seen for name in a if name.startswith("on") or name == "src"] == []
    assert not {"img", "iframe", "object"} & {t for t, _ in found.seen}
    assert [t for t, _ in found.seen].count("svg") == 1, "the empty one that curves are drawn in"
    assert found.comments == []
    assert "\x1b" not in html
    json.loads(html.split('id="page:data">')[1].split("</script>")[0])


@pytest.mark.parametrize("nodes", [6, 72])
def test_the_same_report_is_the_same_page(nodes: int) -> None:
    assert render_page(big_report(nodes)) == render_page(big_report(nodes))


def test_spaces_around_a_command_stay() -> None:
    made = (
        environment()
        .from_string("{{ t|commands }}")
        .render(t="check it, then `clusterctl release n1` and `clusterctl provision n1` again ")
    )
    assert made == "check it, then <code>clusterctl release n1</code> and <code>clusterctl provision n1</code> again "
