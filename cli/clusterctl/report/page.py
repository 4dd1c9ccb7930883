"""The page itself: one HTML file that needs nothing else. Everything in it is escaped."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from clusterctl import clock
from clusterctl.exit_codes import MEANINGS, ExitCode
from clusterctl.lifecycle import MEANING
from clusterctl.render.states import SIGNS

if TYPE_CHECKING:
    from clusterctl.report.model import Page

_TEMPLATES = Path(__file__).parent / "templates"


def render(page: Page) -> str:
    """The HTML of a page."""
    # autoescape for every template: what a node printed is text, never markup.
    environment = Environment(
        autoescape=True, loader=FileSystemLoader(_TEMPLATES), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"moment": clock.short, "path": quote, "command": shlex.join, "exit_meaning": _exit_meaning}
    style = (_TEMPLATES / "style.css").read_text(encoding="utf-8")
    return environment.get_template("page.html.j2").render(page=page, signs=SIGNS, meaning=MEANING, style=style)


def _exit_meaning(code: int | None) -> str:
    known = {int(c) for c in ExitCode}
    return MEANINGS[ExitCode(code)] if code in known else ""
