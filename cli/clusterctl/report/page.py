"""The page itself: one HTML file that needs nothing else. Everything in it is escaped."""

from __future__ import annotations

import shlex
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from clusterctl.core import timestamps
from clusterctl.core.lifecycle import MEANING
from clusterctl.model.exit_codes import MEANINGS, ExitCode
from clusterctl.model.state import State
from clusterctl.report import heatmap
from clusterctl.report.model import Heatmap, Page, Rack
from clusterctl.terminal.states import SIGNS

if TYPE_CHECKING:
    from clusterctl.model.run_report import NodeSection, RunReport

# Above this, good nodes are tiles only: browsers cannot open a page with thousands of sections.
_MANY = 400
_TEMPLATES = Path(__file__).parent / "templates"


def render_page(report: RunReport) -> str:
    """The HTML page of a run."""
    page = page_of(report)
    # autoescape for every template: what a node printed is text, never markup.
    environment = Environment(
        autoescape=True, loader=FileSystemLoader(_TEMPLATES), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"moment": timestamps.short, "path": quote, "command": shlex.join, "exit_meaning": _exit_meaning}
    style = (_TEMPLATES / "style.css").read_text(encoding="utf-8")
    return environment.get_template("page.html.j2").render(page=page, signs=SIGNS, meaning=MEANING, style=style)


def page_of(report: RunReport) -> Page:
    """What the page shows: nodes by rack, those with problems first, and the heatmap."""
    sections = report.sections
    listed = sorted(
        (s for s in sections if len(sections) <= _MANY or _has_problem(s)), key=lambda s: (s.state is State.ADMITTED, not s.not_good)
    )
    results = [g for s in sections for g in s.gate_results]
    return Page(
        run=report.run,
        status=report.status,
        made_at=report.made_at,
        racks=tuple(Rack(name, tuple(group)) for name, group in groupby(sections, key=lambda s: s.record.rack)),
        sections=tuple(listed),
        unlisted=len(sections) - len(listed),
        heatmap=Heatmap(None, (), problem=report.no_records) if report.no_records else heatmap.build_heatmap(report.records, results),
        links=report.links,
        simulated=any(g.simulated for g in results),
    )


def _has_problem(section: NodeSection) -> bool:
    return section.state is not State.ADMITTED or section.not_good > 0


def _exit_meaning(code: int | None) -> str:
    known = {int(c) for c in ExitCode}
    return MEANINGS[ExitCode(code)] if code in known else ""
