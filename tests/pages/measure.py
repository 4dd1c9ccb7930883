"""Measures a page in a browser."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from pages.goals import WIDTHS

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

# Runs before the page: looks at every frame until a failure is on the screen, then waits until that frame was shown.
_WATCH = """
(() => {
  const look = () => {
    const row = document.querySelector("#page\\\\:failures ~ .rows > .row");
    const box = row && row.getBoundingClientRect();
    if (box && box.height && box.top < innerHeight) requestAnimationFrame(() => { window.failuresAt = performance.now(); });
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})();
"""
# Words of up to 24 characters that take more than one line.
BROKEN_WORDS = """
() => {
  const broken = [], range = document.createRange();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode()); ) {
    if (!node.parentElement.checkVisibility() || node.parentElement.closest("script,style,template,title,.heat")) continue;
    for (const match of node.data.matchAll(/[\\p{L}\\p{N}_]+/gu)) {
      if (match[0].length > 24) continue;
      range.setStart(node, match.index);
      range.setEnd(node, match.index + match[0].length);
      if (new Set([...range.getClientRects()].map((r) => Math.round(r.top / 4))).size > 1) broken.push(match[0]);
    }
  }
  return broken.slice(0, 20);
}
"""

# WCAG 2.1, 1.4.3: 4.5 to 1 for text; colours are read back through a canvas, which knows every way to write them.
FAINT = """
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = (c) => c.slice(0, 3).map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
  const found = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode()); ) {
    const element = node.parentElement;
    if (!node.data.trim() || !element.checkVisibility() || element.closest("script,template")) continue;
    let back = element;
    while (back && rgb(getComputedStyle(back).backgroundColor)[3] < 255) back = back.parentElement;
    const colours = [getComputedStyle(element).color, back ? getComputedStyle(back).backgroundColor : "white"];
    const [a, b] = colours.map(c => light(rgb(c))).sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) found.set(colours.join(" on "), `${element.className}: ${node.data.slice(0, 20)} ${((a + 0.05) / (b + 0.05)).toFixed(1)} ${colours.join(" on ")}`);
  }
  return [...found.values()].slice(0, 10);
}
"""

# WCAG 2.1, 1.4.11: 3 to 1 for lines and marks against what is behind them; the fleet is an area, with its median in it.
_CONTRAST = """  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = (c) => c.slice(0, 3).map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (one, other) => { const [a, b] = [one, other].map(c => light(rgb(c))).sort((x, y) => y - x); return (a + 0.05) / (b + 0.05); };
"""
FAINT_SHAPES = (
    f"() => {{{_CONTRAST}"
    """  const faint = [];
  for (const shape of document.querySelectorAll("figure svg .own, figure svg .limit, figure svg .bad, figure svg .good, figure svg .median, figure svg .slow")) {
    let back = shape.closest("figure");
    while (rgb(getComputedStyle(back).backgroundColor)[3] < 255) back = back.parentElement;
    const band = getComputedStyle(document.querySelector("figure svg .band")).fill;
    for (const behind of [getComputedStyle(back).backgroundColor, band]) {
      const found = contrast(getComputedStyle(shape).stroke, behind);
      if (found < 3) faint.push(`${shape.getAttribute("class")} ${found.toFixed(1)} on ${behind}`);
    }
  }
  return [...new Set(faint)];
}
"""
)
# The same for the bars of a timeline, against what is behind its rows.
FAINT_BARS = (
    f"() => {{{_CONTRAST}"
    """
  const faint = [];
  for (const bar of document.querySelectorAll(".times svg .phase, .times svg .waits")) {
    const found = contrast(getComputedStyle(bar).fill, getComputedStyle(bar.ownerSVGElement).backgroundColor);
    if (found < 3) faint.push(`${bar.getAttribute("class")} ${found.toFixed(1)}`);
  }
  return [...new Set(faint)];
}
"""
)


@dataclass(frozen=True, slots=True)
class Width:
    """A page in a window of some width.

    Attributes:
        overflow_px: how much wider than the window it is, with a node and all in it opened.
        height_px, opened_height_px: at load, and then.
        broken_words: words of up to 24 characters that take more than one line, then.
    """

    width_px: int
    overflow_px: int
    height_px: int
    opened_height_px: int
    broken_words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """A page in a browser.

    Attributes:
        elements: at load, before anything is opened.
        failures_ms: from the start of navigation until a failure was on the screen; None where none appeared.
        loaded_ms: until the browser had all of it.
        node_ms: from the click on a node until it was drawn.
        node_elements: after that.
        said: what the browser said on its console: errors.
    """

    nodes: int
    size: int
    made_s: float
    elements: int
    failures_ms: float | None
    loaded_ms: float
    node_ms: float
    node_elements: int
    widths: tuple[Width, ...]
    said: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)


def opened(browser: Browser, file: Path, width: int = 1280, scheme: Literal["light", "dark"] = "light", *, script: bool = True) -> Page:
    """The page, opened in a window of its own."""
    context = browser.new_context(
        viewport={"width": width, "height": WIDTHS[width]}, color_scheme=scheme, java_script_enabled=script, reduced_motion="reduce"
    )
    page = context.new_page()
    if script:
        page.add_init_script(_WATCH)
    page.goto(file.as_uri())
    return page


def measure(browser: Browser, file: Path, nodes: int, made_s: float) -> Measured:
    """Everything about a page."""
    context = browser.new_context(viewport={"width": 1280, "height": WIDTHS[1280]})
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.add_init_script(_WATCH)
    page.goto(file.as_uri())
    elements = count(page)
    failures_ms = page.evaluate("() => new Promise(done => setTimeout(() => done(window.failuresAt ?? null), 100))")
    loaded_ms = page.evaluate("() => performance.getEntriesByType('navigation')[0].loadEventEnd")
    node_ms = page.evaluate(_OPEN)
    found = Measured(
        nodes,
        file.stat().st_size,
        made_s,
        elements,
        failures_ms,
        loaded_ms,
        node_ms,
        count(page),
        tuple(widths(browser, file)),
        tuple(said),
    )
    context.close()
    return found


_OPEN = """
async () => {
  const began = performance.now();
  document.querySelector(".rack a").click();
  while (!document.querySelector("details.node[open] .body")) await new Promise(requestAnimationFrame);
  return performance.now() - began;
}
"""


def count(page: Page) -> int:
    """The number of elements."""
    return int(page.evaluate("document.querySelectorAll('*').length"))


def widths(browser: Browser, file: Path) -> list[Width]:
    """The page at each width, with a node and everything of it opened."""
    found = []
    for width in WIDTHS:
        page = opened(browser, file, width)
        closed = page.evaluate("document.documentElement.scrollHeight")
        page.evaluate(_OPEN)
        page.evaluate("for (const one of document.querySelectorAll('.node[open] details')) one.open = true")
        page.evaluate("for (const one of document.querySelectorAll('details.more')) one.open = true")
        page.wait_for_timeout(100)
        overflow, height = page.evaluate("[document.documentElement.scrollWidth - innerWidth, document.documentElement.scrollHeight]")
        found.append(Width(width, overflow, closed, height, tuple(page.evaluate(BROKEN_WORDS))))
        page.context.close()
    return found
