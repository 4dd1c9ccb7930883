"""The page itself: one HTML file that needs nothing else. Everything in it is escaped."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

from clusterctl.core.gates.judging.installed_skew import installed_text
from clusterctl.core.gates.judging.version_skew import skew_text
from clusterctl.core.lifecycle import MEANING
from clusterctl.report.alike import alike, first_of_same_nodes
from clusterctl.report.curve_rows import curve_words
from clusterctl.report.details import Details
from clusterctl.report.heatmap import Heatmap, build_heatmap
from clusterctl.report.heatmap_cells import tables
from clusterctl.report.load_words import load_words, loads_without_room
from clusterctl.report.model import Page
from clusterctl.report.rows import problem_rows
from clusterctl.report.series_drawing import LARGE
from clusterctl.report.templating import environment, own_file, own_script
from clusterctl.report.tiles import is_dense, tiled_racks
from clusterctl.report.timeline_words import PHASE_HEADS, timeline_words
from clusterctl.terminal.states import SIGNS
from clusterctl_validators.finding import GOOD

if TYPE_CHECKING:
    from clusterctl.model.run_report import RunReport

# So many failures of the same nodes are shown before the next node's; the others are folded.
_FOR_SAME_NODES = 4


def render_page(report: RunReport) -> str:
    """The HTML page of a run."""
    page = page_of(report)
    style, script = own_file("style.css"), own_script("load_traces.js", "timeline.js", "page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    states = {s.value: (SIGNS[s], s.value.replace("_", " ")) for s in MEANING}
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            page=page,
            dense=is_dense(page.racks),
            signs=SIGNS,
            meaning=MEANING,
            states=states,
            style=style,
            script=script,
            digest=digest,
            box=LARGE,
            phase_heads=PHASE_HEADS,
        )
    )


def page_of(report: RunReport) -> Page:
    """What the page shows: what is wrong first, then racks; the rest is data."""
    sections = report.sections
    problems = alike(row for s in sections for row in problem_rows(s, report.run.verb))
    failures, more = first_of_same_nodes([p for p in problems if p.first.outcome not in GOOD], _FOR_SAME_NODES)
    results = [g for s in sections for g in s.gate_results]
    heat = Heatmap(None, (), problem=report.no_records) if report.no_records else build_heatmap(report.records, results)
    return Page(
        run=report.run,
        status=report.status,
        made_at=report.made_at,
        racks=tuple(tiled_racks(sections)),
        failures=failures,
        more_failures=more,
        warnings=tuple(p for p in problems if p.first.outcome in GOOD),
        slow=report.slow,
        skews=(*map(skew_text, report.version_skews), *map(installed_text, report.installed_skews)),
        heatmap=heat,
        heatmap_of=report.records_of,
        links=report.links,
        simulated=any(g.simulated for g in results),
        data=Details().collect(sections, tables(heat), report.curves, report.loads, report.timeline),
        curves=tuple(map(curve_words, report.curves.drawn)),
        loads=tuple(load_words(report.loads)),
        loads_left=loads_without_room(report.loads),
        timeline=timeline_words(report.timeline) if report.timeline else None,
    )
