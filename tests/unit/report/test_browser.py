"""The page in Chromium: quick, readable at any width, usable with the keyboard, without script, in the dark and on paper."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from clusterctl.core.gates.load_gate import load_gates
from clusterctl.core.gates.torch_gemm import GATE as TORCH_GEMM
from clusterctl.core.load_traces import node_traces
from clusterctl.model.gate_result import Outcome
from clusterctl.model.load_trace import NodeLoads
from clusterctl.report import drift_page
from clusterctl.report.page import render_page
from pages.__main__ import unmet
from pages.goals import GOALS, WIDTHS, Goal
from pages.measure import BROKEN_WORDS, FAINT, FAINT_SHAPES, measure, opened
from support.big_report import big_report, recorded_findings
from support.browser import MISSING, browser, program
from support.traced_loads import report_with_loads, traced
from unit.drift.test_outputs import NOW as DRIFT_AT
from unit.drift.test_outputs import body as drift_body
from unit.report.test_inert import HOSTILE, spoiled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Dialog, Page

_FOLLOWED = """() => [...document.querySelectorAll("details.node[open]")]
    .some(node => node.dataset.node === decodeURIComponent(location.hash.slice(1)) && node.querySelector(".body"))"""

pytestmark = pytest.mark.skipif(program() is None, reason=MISSING)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


def written(folder: Path, nodes: int) -> Path:
    file = folder / f"{nodes}.html"
    if not file.exists():
        file.write_text(render_page(big_report(nodes)), encoding="utf-8")
    return file


@pytest.mark.parametrize("goal", GOALS, ids=lambda g: f"{g.nodes} nodes")
def test_a_page_is_quick_and_fits_every_width(chromium: Browser, folder: Path, goal: Goal) -> None:
    assert unmet(measure(chromium, written(folder, goal.nodes), goal.nodes, 0), goal) == []


def test_failures_come_before_racks_and_racks_before_the_rest(chromium: Browser, folder: Path) -> None:
    page = opened(chromium, written(folder, 72))
    tops = [page.locator(s).first.bounding_box() for s in (".row", ".rack", "details.rackrow", "details.table")]
    heights = [box["y"] for box in tops if box]
    assert len(heights) == 4
    assert heights == sorted(heights)


def test_the_link_of_a_tile_opens_its_node(chromium: Browser, folder: Path) -> None:
    page = opened(chromium, written(folder, 72))
    assert page.locator("details.node").count() == 0
    page.locator('.rack a[href="#r013-n10"]').click()
    assert drawn(page) == ["r013-n10"]
    page.go_back()
    page.locator('.rack a[href="#r012-n04"]').click()
    assert drawn(page) == ["r012-n04", "r013-n10"]


def test_a_fault_of_many_nodes_is_one_row_with_a_link_to_each(chromium: Browser, folder: Path) -> None:
    report = big_report(72)
    bad = replace(recorded_findings()[0], outcome=Outcome.FAIL, found="1")
    findings = [replace(s.findings, findings=(bad,)) if s.findings else None for s in report.sections]
    file = folder / "one-fault.html"
    sections = tuple(replace(s, findings=f, gate_results=()) for s, f in zip(report.sections, findings, strict=True))
    file.write_text(render_page(replace(report, sections=sections)), encoding="utf-8")
    page = opened(chromium, file)
    row = page.locator(".row").first
    assert "72 nodes: r012-n[01-18], r013-n[01-18], r014-n[01-18], r015-n[01-18]" in row.inner_text()
    row.locator("summary").click()
    row.locator("a", has_text="r014-n02").click()
    assert drawn(page) == ["r014-n02"]


def test_an_address_with_a_node_opens_it(chromium: Browser, folder: Path) -> None:
    page = opened(chromium, written(folder, 72))
    page.goto(f"{written(folder, 72).as_uri()}#r014-n16")
    assert drawn(page) == ["r014-n16"]


def test_a_node_opens_with_the_keyboard_alone(chromium: Browser, folder: Path) -> None:
    page = opened(chromium, written(folder, 72))
    page.locator(".places a").first.focus()
    page.keyboard.press("Enter")
    assert drawn(page) == ["r012-n04"]
    assert page.evaluate("document.activeElement.matches('.node > summary')")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('.values-of')")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector(".block[open] .line")


def test_a_node_shows_all_of_its_results(chromium: Browser, folder: Path) -> None:
    page = opened(chromium, written(folder, 6))
    page.locator('.rack a[href="#r012-n04"]').click()
    body = page.locator("details.node[open] .body")
    assert "95.0 of 400 Gb/s" in body.inner_text()
    counts = page.evaluate(
        "[...document.querySelectorAll('.node[open] .block summary')].map(s => parseInt(s.textContent.match(/(\\d+) good/)[1]))"
    )
    assert sum(counts) + 1 == 730 + 105
    page.evaluate("for (const one of document.querySelectorAll('.node[open] details')) one.open = true")
    page.wait_for_selector(".line.o-not_applicable")


def test_a_measurement_that_failed_is_drawn_over_time_when_its_node_is_opened(chromium: Browser, folder: Path) -> None:
    page = opened(chromium, written(folder, 72))
    assert page.locator("figure").count() == 0
    page.locator('.rack a[href="#r012-n04"]').click()
    figure = page.locator("figure.curve")
    picture = figure.locator("svg")
    label = "rdma_pair bandwidth_average mlx5_3 6.24; 95 Gb/s, fail, newest of 20 runs; floor 360 Gb/s; fleet 380.1 (365 to 389), 71 nodes"
    assert picture.get_attribute("aria-label") == label
    box = picture.bounding_box()
    assert box
    assert box["width"] > 300
    shapes = {name: picture.locator(f".{name}").count() for name in ("own", "limit", "earlier", "good", "bad", "band", "median")}
    # The fleet was not measured in the first and in the fifth run.
    assert shapes == {"own": 1, "limit": 1, "earlier": 2, "good": 17, "bad": 1, "band": 2, "median": 2}
    legend = [words.strip() for words in figure.locator(".legend > span").all_inner_texts()]
    assert legend == ["measured", "✗ not a pass", "◇ before a part was replaced", "90 % of the fleet", "its median", "floor 360 Gb/s"]
    rows = figure.locator("tbody tr").all_inner_texts()
    assert len(rows) == 20
    assert rows[0].split("\t") == ["2026-03-06 09:00:00Z", "95", "fail", "380.1 (365 to 389), 71 nodes"]
    assert rows[19].split("\t")[2:] == ["pass, part replaced since", ""]
    assert figure.locator(".simulated").inner_text() == "simulated"


def test_the_shapes_of_a_curve_are_seen_on_every_background(chromium: Browser, folder: Path) -> None:
    for scheme in ("light", "dark"):
        page = opened(chromium, written(folder, 72), 1280, "dark" if scheme == "dark" else "light")
        page.locator('.rack a[href="#r012-n04"]').click()
        page.wait_for_selector("figure.curve")
        assert page.evaluate(FAINT_SHAPES) == []


def test_values_of_a_curve_are_reached_with_the_keyboard_and_printed_in_full(chromium: Browser, folder: Path) -> None:
    page = opened(chromium, written(folder, 72))
    page.locator('.rack a[href="#r012-n04"]').click()
    page.wait_for_selector("figure.curve")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('.values-of')")
    page.keyboard.press("End")
    assert page.evaluate("async () => { while (!document.activeElement.scrollTop) await new Promise(requestAnimationFrame); return true; }")
    page.emulate_media(media="print")
    assert page.evaluate("document.querySelector('.values-of').scrollHeight - document.querySelector('.values-of').clientHeight") == 0
    assert page.evaluate("document.querySelector('.values-of').scrollWidth - document.querySelector('.values-of').clientWidth") == 0
    assert page.locator("figure.curve tbody tr").last.is_visible()


@pytest.mark.parametrize("width", WIDTHS)
def test_curves_and_bars_fit_every_width(chromium: Browser, folder: Path, width: int) -> None:
    page = opened(chromium, written(folder, 72), width)
    page.locator('.rack a[href="#r012-n04"]').click()
    page.wait_for_selector("figure.curve")
    page.evaluate("for (const one of document.querySelectorAll('details.spread')) one.open = true")
    page.wait_for_selector("details.spread:last-of-type figure")
    assert page.locator("figure svg").count() == 4
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(BROKEN_WORDS) == []
    assert page.evaluate(FAINT) == []


def test_what_has_no_room_is_counted(chromium: Browser, folder: Path) -> None:
    report = big_report(6)
    file = folder / "left-out.html"
    file.write_text(render_page(replace(report, curves=replace(report.curves, left_out=(("r012-n04", 7),)))), encoding="utf-8")
    page = opened(chromium, file)
    page.locator('.rack a[href="#r012-n04"]').click()
    page.wait_for_selector("figure.curve")
    assert "Not drawn, of what is to be looked at: 7." in page.locator("details.node[open] .body").inner_text()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_load_of_a_gpu_stress_that_failed_is_drawn_when_its_node_is_opened(chromium: Browser, folder: Path, width: int) -> None:
    file = folder / "loads.html"
    file.write_text(render_page(report_with_loads(6, 4)), encoding="utf-8")
    for scheme in ("light", "dark"):
        page = opened(chromium, file, width, "dark" if scheme == "dark" else "light")
        assert page.locator("figure").count() == 0
        page.locator('.rack a[href="#r012-n04"]').click()
        figures = page.locator("figure.load")
        figures.first.wait_for()
        assert figures.count() == 2
        picture = figures.first.locator("svg").first
        said = "SM clock over 0 to 925 s: gpu6 742 to 1489 MHz; 7 others 1480 to 1496 MHz; slowed down: gpu6"
        assert picture.get_attribute("aria-label") == said
        shapes = {name: picture.locator(f".{name}").count() for name in ("own", "median", "slow")}
        assert shapes == {"own": 1, "median": 7, "slow": 1}
        assert picture.locator(".own title").text_content() == "gpu6"
        captions = figures.first.locator(".curves p").all_inner_texts()
        assert [words.split(",")[0] for words in captions] == [
            "SM clock in MHz",
            "power in W",
            "temperature in C",
            "margin to the slowdown in C",
        ]
        assert [words.strip() for words in figures.first.locator(".legend > span").all_inner_texts()] == [
            "gpu6",
            "the 7 others",
            "✗ slowed down",
        ]
        rows = [row.split("\t") for row in figures.first.locator("tbody tr").all_inner_texts()]
        assert [row[0] for row in rows] == ["gpu6", *(f"gpu{i}" for i in (0, 1, 2, 3, 4, 5, 7))]
        assert rows[0][-1] == "HW slowdown, HW thermal slowdown in 62 of 186 samples, at 620 to 925 s"
        assert figures.locator(".simulated").all_inner_texts() == ["simulated", "simulated"]
        box = picture.bounding_box()
        assert box
        assert box["width"] > 200
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate(BROKEN_WORDS) == []
        assert page.evaluate(FAINT) == []
        assert page.evaluate(FAINT_SHAPES) == []


def test_a_load_is_drawn_for_each_gate_and_a_single_gpu_has_its_name(chromium: Browser, folder: Path) -> None:
    file = folder / "gates.html"
    report = report_with_loads(6, 1, gates=[gate.name for gate in load_gates()])
    name = report.sections[0].name
    alone = traced({"gpus": 1, "slow": {0: {"clock": 1350, "from": 10}}}, name, gate="torch_gemm")
    loads = (*report.loads, NodeLoads(name, "torch_gemm", "", tuple(node_traces(TORCH_GEMM, [alone], name, []))))
    file.write_text(render_page(replace(report, loads=loads)), encoding="utf-8")
    page = opened(chromium, file)
    page.locator('.rack a[href="#r012-n01"]').click()
    figures = page.locator("figure.load")
    figures.first.wait_for()
    assert [words.split("\n")[0].removesuffix(" simulated") for words in figures.locator("figcaption").all_inner_texts()] == [
        *("gpu_stress: the load", "gpu_stress: the repeat of the load"),
        *("torch_gemm: the load", "torch_gemm: the repeat of the load"),
        "torch_gemm: the load",
    ]
    assert [words.strip() for words in figures.last.locator(".legend > span").all_inner_texts()] == ["gpu0"]


def test_the_table_of_a_load_is_reached_with_the_keyboard_and_there_without_script(chromium: Browser, folder: Path) -> None:
    file = folder / "loads.html"
    file.write_text(render_page(report_with_loads(6, 1)), encoding="utf-8")
    page = opened(chromium, file)
    page.locator('.rack a[href="#r012-n01"]').click()
    page.wait_for_selector("figure.load")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('.load .values-of')")
    text = opened(chromium, file, script=False).locator("body").inner_text()
    assert "HW slowdown, HW thermal slowdown in 62 of 186 samples, at 620 to 925 s" in text


def test_a_table_of_bandwidths_is_drawn_when_it_is_opened(chromium: Browser, folder: Path) -> None:
    page = opened(chromium, written(folder, 6))
    assert page.locator("td").count() == 0
    page.locator("details.table > summary").first.click()
    page.wait_for_selector("td")
    assert page.locator("td").count() == 6 * 8
    assert page.locator("td.low").all_inner_texts() == ["▼ 94"]


def test_the_values_of_a_run_are_drawn_when_their_figure_is_opened(chromium: Browser, folder: Path) -> None:
    page = opened(chromium, written(folder, 72))
    heading = page.locator("details.spread > summary")
    assert heading.first.inner_text() == (
        "rdma_pair bandwidth_average 568 values of 71 nodes; 95 to 391.1 Gb/s, median 378; floor 360 Gb/s 1 not a pass"
    )
    heading.first.click()
    figure = page.locator("details.spread figure")
    assert figure.locator("svg").get_attribute("aria-label") == f"rdma_pair bandwidth_average: {heading.first.inner_text()[28:-13]}"
    rows = [row.split("\t") for row in figure.locator("tbody tr").all_inner_texts()]
    assert rows[0] == ["95 to 107.3", "1", "1"]
    assert sum(int(row[1]) for row in rows) == 568
    assert figure.locator("svg .bar-all").count() == len(rows)
    assert figure.locator("svg .bar-bad").count() == 1
    assert figure.locator("svg .limit").count() == 1
    legend = [words.strip() for words in figure.locator(".legend > span").all_inner_texts()]
    assert legend == ["values", "not a pass", "floor 360 Gb/s"]


def test_without_script_failures_and_racks_are_there(chromium: Browser, folder: Path) -> None:
    page = opened(chromium, written(folder, 72), script=False)
    text = page.locator("body").inner_text()
    for words in (
        "rdma_pair floor bandwidth_average",
        "check cable and port of mlx5_3",
        "r015-n18",
        "which does not run here",
        "374.3, 95 (fail)",
    ):
        assert words in text


@pytest.mark.parametrize("width", WIDTHS)
def test_text_can_be_read_in_the_dark(chromium: Browser, folder: Path, width: int) -> None:
    page = opened(chromium, written(folder, 72), width, "dark")
    page.locator(".places a").first.click()
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.wait_for_selector("td")
    assert page.evaluate(FAINT) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_text_can_be_read_in_the_light(chromium: Browser, folder: Path, width: int) -> None:
    page = opened(chromium, written(folder, 72), width)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.wait_for_selector("td")
    assert page.evaluate(FAINT) == []


def test_on_paper_the_failures_and_the_opened_node_are_there_on_white(chromium: Browser, folder: Path) -> None:
    page = opened(chromium, written(folder, 72), 1280, "dark")
    page.locator(".places a").first.click()
    assert drawn(page) == ["r012-n04"]
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("details.node[open] .body").is_visible()
    assert page.locator("details.rackrow:visible").count() == 1
    assert page.pdf()[:5] == b"%PDF-"


def test_what_a_node_says_is_drawn_as_text(chromium: Browser, folder: Path) -> None:
    said = "".join(HOSTILE)
    file = folder / "hostile.html"
    file.write_text(render_page(spoiled(big_report(6), said)), encoding="utf-8")
    context = chromium.new_context()
    page = context.new_page()
    heard: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        heard.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", dismiss)
    page.on("console", lambda message: heard.append(message.text))
    page.goto(file.as_uri())
    page.locator('.rack a[href="#r012-n04"]').click()
    assert drawn(page) == ["r012-n04"]
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.wait_for_selector("details.node[open] .line")
    assert "</script>" in page.locator("details.node[open] .reason").inner_text()
    assert "\\x1b[2J" in page.locator("details.node[open] .reason").inner_text()
    assert page.evaluate("document.querySelectorAll('img, iframe, body script:not([id])').length") == 1
    assert heard == []


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_of_a_drift_run_fits_every_width(chromium: Browser, folder: Path, width: int) -> None:
    file = folder / "drift.html"
    file.write_text(drift_page.render_drift_page(drift_body(), DRIFT_AT), encoding="utf-8")
    page = opened(chromium, file, width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(BROKEN_WORDS) == []


def drawn(page: Page) -> list[str]:
    """The nodes that are open, once the one of the address is: the browser tells the page about a new address after the click has returned."""
    page.wait_for_function(_FOLLOWED)
    return sorted(page.evaluate("[...document.querySelectorAll('details.node[open]')].map(n => n.dataset.node)"))
