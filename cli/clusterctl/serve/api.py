"""The JSON API: a table of endpoints, from which routes and the OpenAPI document are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from clusterctl.core.listed_nodes import listed_nodes
from clusterctl.model.run_comparison import ComparisonDocument
from clusterctl.model.web_documents import (
    FleetDocument,
    NodeDocument,
    NodesDocument,
    ProgressDocument,
    RackDocument,
    RunDocument,
    RunsDocument,
)
from clusterctl.serve import parameters as p
from clusterctl.serve.answers import UnknownRackError, json_answer
from clusterctl.serve.web_documents import fleet_document, listed_racks, node_document, run_document, run_summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.requests import Request
    from starlette.responses import Response

    from clusterctl.model.state import State
    from clusterctl.serve.source import Source


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A path that returns a document.

    Attributes:
        path: below `/api/v1`.
        description: what it returns, in a sentence.
        read: called with the source and the values of the parameters.
    """

    path: str
    name: str
    description: str
    document: type[Any]
    read: Callable[..., Any]
    parameters: tuple[p.Parameter, ...] = ()

    @property
    def can_miss(self) -> bool:
        """Whether the requested item may be missing from the record."""
        return any(one.required for one in self.parameters)


def fleet_in_numbers(source: Source) -> FleetDocument:
    """The whole fleet in numbers."""
    return fleet_document(source.fleet(), source.hardware())


def nodes_document(source: Source, *, rack: str | None, state: State | None, since: str | None, limit: int, offset: int) -> NodesDocument:
    """A part of the nodes that match."""
    found = source.fleet()
    begin = (since or "").removesuffix("Z")  # text order is time order, of a part of a time too
    matching = [n for n in found.nodes if rack in (None, n.rack) and state in (None, n.state) and n.since >= begin]
    shown = matching[offset : offset + limit]
    return NodesDocument(len(matching), offset, limit, listed_nodes(found, shown, source.hardware(n.name for n in shown)))


def rack_document(source: Source, *, name: str) -> RackDocument:
    """A rack with its nodes.

    Raises:
        UnknownRackError: no recorded node is in it.
    """
    found = source.fleet()
    shown = [n for n in found.nodes if n.rack == name]
    rack = next((r for r in listed_racks(found) if r.name == name), None)
    if rack is None:
        raise UnknownRackError(target=name)
    return RackDocument(rack, listed_nodes(found, shown, source.hardware(n.name for n in shown)))


def one_node(source: Source, *, name: str) -> NodeDocument:
    """Everything recorded of a node.

    Raises:
        UnknownNodeError: it is not recorded.
    """
    page = source.node(name)
    return node_document(source.fleet(), page, source.hardware([name]))


def newest_runs(source: Source) -> RunsDocument:
    """The newest runs."""
    rows, unfinished = source.runs()
    return RunsDocument(tuple(run_summary(r, unfinished) for r in rows))


def one_run(source: Source, *, run: str) -> RunDocument:
    """A run with its nodes.

    Raises:
        UnknownRunError: no run matches, or several do.
    """
    return run_document(source.run(run))


def _comparison(source: Source, *, before: str, after: str) -> ComparisonDocument:
    return source.comparison(before, after)


def _progress(source: Source) -> ProgressDocument:
    return ProgressDocument(source.progress())


BASE = "/api/v1"
ENDPOINTS = (
    Endpoint("/fleet", "fleet", "Capacity, states and racks of the whole fleet.", FleetDocument, fleet_in_numbers),
    Endpoint(
        "/nodes",
        "nodes",
        "Nodes by rack, slot and name, a part at a time. Newly delivered ones: state=admitted and since=TIME.",
        NodesDocument,
        nodes_document,
        (p.RACK, p.STATE, p.SINCE, p.LIMIT, p.OFFSET),
    ),
    Endpoint("/nodes/{name}", "node", "Everything recorded of a node.", NodeDocument, one_node, (p.NAME,)),
    Endpoint("/racks/{name}", "rack", "A rack with its nodes.", RackDocument, rack_document, (p.NAME,)),
    Endpoint("/runs", "runs", "The newest runs.", RunsDocument, newest_runs),
    Endpoint("/runs/{run}", "run", "A run with its nodes.", RunDocument, one_run, (p.RUN,)),
    Endpoint("/comparison", "comparison", "A run against an earlier one.", ComparisonDocument, _comparison, (p.BEFORE, p.AFTER)),
    Endpoint("/progress", "progress", "The runs in progress.", ProgressDocument, _progress),
)


def api_routes(source: Source) -> Iterator[Route]:
    """A route for each endpoint."""
    for endpoint in ENDPOINTS:
        path = BASE + endpoint.path.replace("}", ":path}")
        yield Route(path, _handler(source, endpoint), name=f"api:{endpoint.name}")


def _handler(source: Source, endpoint: Endpoint) -> Callable[[Request], Response]:
    def handle(request: Request) -> Response:
        return json_answer(endpoint.document, endpoint.read(source, **p.values_of(request, endpoint.parameters)))

    return handle
