"""`python -m pages`: writes the report of runs of 6 to 12,500 nodes, draws it in Chromium, writes build/pages.json and screenshots."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl.report.page import render_page
from pages.goals import GOALS, LARGEST, WIDTHS, Goal
from pages.measure import Measured, measure, opened
from support.big_report import big_report
from support.browser import MISSING, browser, program

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def main() -> int:
    """Measure them. Returns 0 if every goal is met."""
    parser = argparse.ArgumentParser(prog="python -m pages", description=__doc__)
    parser.add_argument(
        "--nodes", type=int, action="append", help=f"only these (repeat)  [default: {[g.nodes for g in GOALS]} and {LARGEST}]"
    )
    parser.add_argument("--out", type=Path, default=Path("build/pages.json"))
    args = parser.parse_args()
    if program() is None:
        print(MISSING)
        return 1
    folder = args.out.parent / "pages"
    folder.mkdir(parents=True, exist_ok=True)
    goals = {g.nodes: g for g in GOALS}
    rows, missed = [], []
    with browser() as started:
        for nodes in args.nodes or [*goals, LARGEST]:
            found = of_size(started, folder, nodes)
            wrong = unmet(found, goals.get(nodes))
            rows.append({**found.document(), "unmet": wrong})
            missed += wrong
            shown = "none" if found.failures_ms is None else f"{found.failures_ms:.0f} ms"
            print(
                f"{nodes} nodes: {found.size / 1000:.0f} kB, {found.elements} elements, failures after {shown}, {'; '.join(wrong) or 'ok'}"
            )
        version = started.version
    document = {"chromium": version, "cores": os.cpu_count(), "pages": rows}
    args.out.write_text(json.dumps(document, indent=2) + "\n")
    return int(bool(missed))


def of_size(started: Browser, folder: Path, nodes: int) -> Measured:
    """Write, measure and photograph the page of a run of this size."""
    began = time.monotonic()
    file = (folder / f"report-{nodes}.html").absolute()
    file.write_text(render_page(big_report(nodes)), encoding="utf-8")
    found = measure(started, file, nodes, round(time.monotonic() - began, 1))
    for width in WIDTHS:
        for scheme in ("light", "dark"):
            page = opened(started, file, width, "dark" if scheme == "dark" else "light")
            page.screenshot(path=folder / f"report-{nodes}-{width}-{scheme}.png")
            page.locator(".rack .s-quarantined").first.click()
            page.wait_for_selector("details.node[open] .body")
            page.screenshot(path=folder / f"node-{nodes}-{width}-{scheme}.png")
            page.context.close()
    return found


def unmet(found: Measured, goal: Goal | None) -> list[str]:
    """What a page does not meet; without a goal, only what holds for every page."""
    wrong = [f"{w.width_px} px: {w.overflow_px} px too wide" for w in found.widths if w.overflow_px > 0]
    wrong += [f"{w.width_px} px: broken words: {', '.join(w.broken_words)}" for w in found.widths if w.broken_words]
    wrong += [f"console: {said}" for said in found.said]
    if goal:
        wrong += [f"{found.size} bytes, at most {goal.size}"] if found.size > goal.size else []
        wrong += [f"{found.elements} elements, at most {goal.elements}"] if found.elements > goal.elements else []
        late = found.failures_ms is None or found.failures_ms > goal.failures_ms
        wrong += [f"failures after {found.failures_ms} ms, at most {goal.failures_ms}"] if late else []
    return wrong


if __name__ == "__main__":
    sys.exit(main())
