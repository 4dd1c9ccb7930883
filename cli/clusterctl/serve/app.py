"""The application: routes, errors as responses, the guard before all of it."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.routing import Route

from clusterctl.model.errors import ClusterctlError
from clusterctl.serve.answers import http_status, problem
from clusterctl.serve.api import BASE, api_routes
from clusterctl.serve.guard import Guard
from clusterctl.serve.openapi import openapi_document
from clusterctl.serve.pages import page_routes, problem_page
from clusterctl.serve.progress_events import EVENTS_PATH, events_handler

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from clusterctl.serve.access import Access
    from clusterctl.serve.source import Source

OPENAPI_PATH = "/openapi.json"


def web_app(source: Source, access: Access, stopping: Callable[[], bool] = lambda: False) -> Guard:
    """The ASGI application; streams end soon after `stopping` becomes true."""
    return Guard(routed(source, stopping), access)


def routed(source: Source, stopping: Callable[[], bool]) -> Starlette:
    """All routes, unguarded."""
    openapi = openapi_document(version("clusterctl"))
    routes = [
        *api_routes(source),
        Route(EVENTS_PATH, events_handler(source, stopping), name="api:events"),
        Route(OPENAPI_PATH, lambda _request: JSONResponse(openapi), name="openapi"),
        *page_routes(source),
    ]
    return Starlette(routes=routes, exception_handlers={ClusterctlError: _failed, HTTPException: _unrouted, Exception: _unexpected})


def _failed(request: Request, error: Exception) -> Response:
    if not isinstance(error, ClusterctlError):  # Starlette's type of handlers is wider than what it gives them
        raise error
    return _answer(request, http_status(error), str(error), error.hint)


def _unexpected(request: Request, error: Exception) -> Response:
    return _answer(
        request, 500, f"unexpected {type(error).__name__}", "the terminal or the journal of the server has the traceback: report it"
    )


def _unrouted(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    return _answer(request, error.status_code, f"{request.url.path}: there is nothing here", f"{OPENAPI_PATH} lists what there is")


def _answer(request: Request, status: int, detail: str, hint: str) -> Response:
    if request.url.path.startswith((BASE, OPENAPI_PATH)):
        return problem(status, detail, hint)
    return problem_page(status, detail, hint)
