"""The timeline of a run in Chromium: drawn when opened, at any width, with the keyboard and without script."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.report.page import render_page
from pages.goals import WIDTHS
from pages.measure import BROKEN_WORDS, FAINT, FAINT_BARS, opened
from support.browser import MISSING, browser, program
from support.timed_runs import report_with_times

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = pytest.mark.skipif(program() is None, reason=MISSING)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.mark.parametrize("width", WIDTHS)
def test_the_time_of_a_run_is_drawn_when_its_section_is_opened(chromium: Browser, tmp_path: Path, width: int) -> None:
    file = tmp_path / "times.html"
    file.write_text(render_page(report_with_times(6)), encoding="utf-8")
    for scheme in ("light", "dark"):
        page = opened(chromium, file, width, "dark" if scheme == "dark" else "light")
        assert page.locator(".time-row").count() == 0
        page.locator("details.timeline > summary").focus()
        page.keyboard.press("Enter")
        rows = page.locator(".time-row")
        rows.first.wait_for()
        assert rows.count() == 6
        assert rows.locator(".phase").count() == 5 * 7
        assert rows.locator(".gate").count() == 5 * 4
        slow, never = rows.nth(3), rows.nth(4)
        assert slow.locator("p").inner_text() == "r012-n04 slowest: apply, reboot"
        assert slow.locator(".slowest").count() == 2
        said = slow.locator("svg").get_attribute("aria-label") or ""
        assert said.startswith("r012-n04: check 0:00 to 0:05; apply 0:20 to 15:20; reboot 20:30 to 27:30; verify 28:20 to 28:27; ")
        assert said.endswith("; slowest: apply, reboot")
        assert (never.locator("p").inner_text(), never.locator("rect").count()) == ("r012-n05 began no phase", 0)
        apply, reboot = (slow.locator(f".p{i}").first.bounding_box() for i in (1, 2))
        line = slow.locator(".waits").bounding_box()
        assert apply
        assert reboot
        assert line
        assert apply["x"] + apply["width"] < reboot["x"] < line["x"] + line["width"]
        table = [row.split("\t") for row in page.locator(".times tbody tr").all_inner_texts()]
        assert table[1] == ["apply", "5", "20 s", "15 min 20 s", "10 min 01 s", "r012-n04: 15 min 00 s", "r012-n04: 15 min 20 s"]
        assert "1 node began no phase: r012-n05." in page.locator(".times").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate(BROKEN_WORDS) == []
        assert page.evaluate(FAINT) == []
        assert page.evaluate(FAINT_BARS) == []
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.matches('.times .values-of')")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.locator('details.node[data-node="r012-n01"][open]').wait_for()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_time_of_many_nodes_has_a_row_for_each_rack(chromium: Browser, tmp_path: Path, width: int) -> None:
    file = tmp_path / "times-72.html"
    file.write_text(render_page(report_with_times(72)), encoding="utf-8")
    page = opened(chromium, file, width)
    page.locator("details.timeline > summary").click()
    racks = page.locator("details.time-rack")
    racks.first.wait_for()
    assert (racks.count(), page.locator(".time-row").count()) == (4, 4)
    assert racks.first.locator(".phase").count() == racks.first.locator(".spread").count() == 7
    first = racks.first.locator("summary svg").get_attribute("aria-label") or ""
    assert first.startswith("rack-12: check 0:00 to 0:12; apply 0:20 to 15:20; ")
    assert "slowest: " in racks.first.locator("summary p").inner_text()
    racks.first.locator("summary").focus()
    page.keyboard.press("Enter")
    racks.first.locator(".time-row").nth(18).wait_for()
    assert racks.first.locator(".time-row").count() == 1 + 18
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(BROKEN_WORDS) == []


def test_the_time_of_a_run_is_there_without_script(chromium: Browser, tmp_path: Path) -> None:
    file = tmp_path / "times.html"
    file.write_text(render_page(report_with_times(6)), encoding="utf-8")
    page = opened(chromium, file, 390, script=False)
    summary = page.locator("details.timeline > summary")
    assert "(slowest r012-n04)" in summary.inner_text()
    summary.focus()
    page.keyboard.press("Enter")
    text = page.locator(".times").inner_text()
    for words in ("1 node began no phase: r012-n05.", "10 min 01 s", "r012-n04: 15 min 00 s"):
        assert words in text
