"""The pages for people: the documents of the API as HTML. Everything in them is escaped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from clusterctl.core.lifecycle import MEANING
from clusterctl.model.rack_condition import RackCondition
from clusterctl.report.curve_rows import beside_text
from clusterctl.report.series_drawing import sparkline
from clusterctl.report.templating import environment, own_file
from clusterctl.serve import parameters as p
from clusterctl.serve.api import fleet_in_numbers, newest_runs, nodes_document, one_node, one_run, rack_document
from clusterctl.serve.progress_events import EVENTS_PATH
from clusterctl.terminal.comparison import comparison_summary, comparison_tables
from clusterctl.terminal.states import SIGNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.requests import Request

    from clusterctl.serve.source import Source

_TEMPLATES = Path(__file__).parent / "templates"
# so that a page of tiles or rows stays below 200 kB
_RACKS, _ROWS = 600, 400
_CONDITION = p.Parameter("condition", RackCondition, "Only racks in this condition.")
_RUN_BEFORE = p.Parameter("before", str, p.BEFORE.description, "")
_RUN_AFTER = p.Parameter("after", str, p.AFTER.description, "")


def page_routes(source: Source) -> Iterator[Route]:
    """A route for each page, and for what pages load."""
    pages: tuple[tuple[str, str, Callable[..., dict[str, Any]], tuple[p.Parameter, ...]], ...] = (
        ("/", "fleet", _fleet, (_CONDITION, p.OFFSET)),
        ("/racks/{name:path}", "rack", _rack, (p.NAME,)),
        ("/nodes", "nodes", _nodes, (p.RACK, p.STATE, p.SINCE, p.LIMIT, p.OFFSET)),
        ("/nodes/{name:path}", "node", _node, (p.NAME,)),
        ("/runs", "runs", _runs, ()),
        ("/runs/{run:path}", "run", _run, (p.RUN, p.OFFSET)),
        ("/compare", "compare", _compare, (_RUN_BEFORE, _RUN_AFTER)),
    )
    for path, name, read, parameters in pages:
        yield Route(path, _handler(source, name, read, parameters), name=f"page:{name}")
    style = str(own_file("style.css")) + (_TEMPLATES / "web.css").read_text(encoding="utf-8")
    script = (_TEMPLATES / "progress.js").read_text(encoding="utf-8")
    yield Route("/style.css", lambda _request: Response(style, media_type="text/css"), name="page:style")
    yield Route("/progress.js", lambda _request: Response(script, media_type="text/javascript"), name="page:script")


def problem_page(status: int, detail: str, hint: str) -> Response:
    """An error as a page."""
    return _page("problem", status, detail=detail, hint=hint)


def _handler(
    source: Source, name: str, read: Callable[..., dict[str, Any]], parameters: tuple[p.Parameter, ...]
) -> Callable[[Request], Response]:
    def handle(request: Request) -> Response:
        return _page(name, **read(source, **p.values_of(request, parameters)))

    return handle


def _page(template: str, status: int = 200, **values: Any) -> Response:
    made = environment(_TEMPLATES).get_template(f"{template}.html.j2")
    return HTMLResponse(made.render(values, signs=SIGNS, meaning=MEANING, sparkline=sparkline, beside=beside_text), status)


def _fleet(source: Source, *, condition: RackCondition | None, offset: int) -> dict[str, Any]:
    fleet = fleet_in_numbers(source)
    racks = [r for r in fleet.racks if condition in (None, r.condition)]
    conditions = {c: sum(r.condition is c for r in fleet.racks) for c in RackCondition}
    shown = racks[offset : offset + _RACKS]
    return {
        "fleet": fleet,
        "racks": shown,
        "total": len(racks),
        "offset": offset,
        "step": _RACKS,
        "condition": condition,
        "conditions": conditions,
    }


def _rack(source: Source, *, name: str) -> dict[str, Any]:
    return {"found": rack_document(source, name=name)}


def _nodes(source: Source, **values: Any) -> dict[str, Any]:
    return {"found": nodes_document(source, **values), "chosen": values}


def _node(source: Source, *, name: str) -> dict[str, Any]:
    return {"found": one_node(source, name=name)}


def _runs(source: Source) -> dict[str, Any]:
    return {"runs": newest_runs(source).runs, "progress": source.progress(), "events": EVENTS_PATH}


def _run(source: Source, *, run: str, offset: int) -> dict[str, Any]:
    found = one_run(source, run=run)
    return {"found": found, "nodes": found.nodes[offset : offset + _ROWS], "offset": offset, "step": _ROWS, "total": len(found.nodes)}


def _compare(source: Source, *, before: str, after: str) -> dict[str, Any]:
    empty: dict[str, Any] = {"before": before, "after": after, "found": None}
    if not before or not after:
        return empty
    found = source.comparison(before, after)
    tables = [(columns, rows[:_ROWS], len(rows)) for columns, rows in comparison_tables(found) if rows]
    return empty | {"found": found, "tables": tables, "summary": comparison_summary(found)}
