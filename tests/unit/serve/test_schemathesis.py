"""`serve` keeps what its OpenAPI document promises, and refuses what it forbids, for requests that schemathesis thinks of."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.serve.api import BASE
from clusterctl.serve.app import web_app
from clusterctl.workflows.browse import Browser
from support.asgi import ask
from support.schemathesis_run import request_all
from support.web_site import LOOPBACK, store_url, write_site

if TYPE_CHECKING:
    from collections.abc import Callable

    from clusterctl.serve.guard import Guard

_EXAMPLES = 50


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Guard:
    """The application over a record with hostile text; its streams end at once."""
    folder = tmp_path_factory.mktemp("site")
    write_site(folder, "<\x1b'\"\u202e")
    return web_app(Browser(store_url(folder)), LOOPBACK, lambda: True)


@pytest.fixture
def document(app: Guard) -> dict[str, Any]:
    served: dict[str, Any] = ask(app, "/openapi.json").json()
    return served


@pytest.mark.slow
def test_no_request_finds_an_answer_that_the_document_does_not_have(app: Guard, document: dict[str, Any]) -> None:
    found = request_all(app, document, _EXAMPLES)
    assert found.failures == ()
    by_operation = Counter(operation for operation, _ in found.answers.elements())
    assert set(by_operation) == {f"GET {path}" for path in document["paths"]} | {"Stateful tests"}

    def statuses(*paths: str) -> set[int]:
        return {status for operation, status in found.answers if operation in {f"GET {BASE}{path}" for path in paths}}

    # what is recorded, what is not, what is not possible, and methods that do not read: otherwise it proved little
    assert statuses("/nodes") == {200, 400, 405}
    assert statuses("/comparison") == {400, 404, 405}
    named = ("/nodes/{name}", "/racks/{name}", "/runs/{run}")
    assert all({200, 405} <= statuses(path) for path in named)
    # Together: the names are those of earlier answers and constants of all modules that are imported, so a single path may meet no unknown one.
    assert statuses(*named) == {200, 404, 405}


def _without_404(document: dict[str, Any]) -> None:
    # Of all: which names a path meets depends on the modules that are imported.
    for path in ("/nodes/{name}", "/racks/{name}", "/runs/{run}"):
        del document["paths"][BASE + path]["get"]["responses"]["404"]


def _with_another_type(document: dict[str, Any]) -> None:
    document["components"]["schemas"]["NodesDocument"]["properties"]["total"]["type"] = "string"


def _with_a_narrower_parameter(document: dict[str, Any]) -> None:
    limit = next(p for p in document["paths"][f"{BASE}/nodes"]["get"]["parameters"] if p["name"] == "limit")
    limit["schema"]["maximum"] = 10


def _with_a_wider_parameter(document: dict[str, Any]) -> None:
    limit = next(p for p in document["paths"][f"{BASE}/nodes"]["get"]["parameters"] if p["name"] == "limit")
    limit["schema"]["minimum"] = 0


@pytest.mark.parametrize(
    ("falsify", "check"),
    [
        (_without_404, "status_code_conformance"),
        (_with_another_type, "response_schema_conformance"),
        (_with_a_narrower_parameter, "negative_data_rejection"),
        (_with_a_wider_parameter, "positive_data_acceptance"),
    ],
)
def test_a_document_that_is_not_true_is_found(
    app: Guard, document: dict[str, Any], falsify: Callable[[dict[str, Any]], None], check: str
) -> None:
    falsify(document)
    assert request_all(app, document, 10).failed_checks == {check}
