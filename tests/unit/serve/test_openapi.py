"""The OpenAPI document is whole, and what is recorded is answered with the schema that it names; test_schemathesis.py asks all else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from jsonschema import Draft202012Validator

from clusterctl.main import call
from clusterctl.serve.api import BASE, ENDPOINTS
from clusterctl.serve.openapi import openapi_document
from clusterctl.serve.progress_events import EVENTS_PATH
from support.asgi import Answer, ask
from support.web_site import BAD, FIRST, NODE, SECOND, app_of, write_site

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.serve.guard import Guard

DOCUMENT = openapi_document("0.1.0")


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Guard:
    folder = tmp_path_factory.mktemp("site")
    write_site(folder, "<\x1b'\"\u202e")
    return app_of(folder)


def problems(operation: dict[str, Any], answer: Answer) -> list[str]:
    said = operation["responses"].get(str(answer.status))
    if said is None:
        return [f"status {answer.status} is not in the document: {answer.text}"]
    schema = {**said["content"]["application/json"]["schema"], "components": DOCUMENT["components"]}
    return [f"{e.json_path}: {e.message}" for e in Draft202012Validator(schema).iter_errors(answer.json())]


def test_every_endpoint_and_every_class_is_in_the_document() -> None:
    assert set(DOCUMENT["paths"]) == {BASE + e.path for e in ENDPOINTS} | {EVENTS_PATH}
    for schema in DOCUMENT["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    assert {"ListedNode", "FleetDocument", "ProblemDocument", "ComparisonDocument"} <= set(DOCUMENT["components"]["schemas"])


@pytest.mark.parametrize("kind", ["nodes/{name}", "racks/{name}", "runs/{run}"])
@pytest.mark.parametrize("word", ["a/b", "/", "..", "%00", "%2F", "é", "-1"])
def test_a_name_that_no_generator_writes_into_a_path_is_not_recorded(app: Guard, kind: str, word: str) -> None:
    path = f"{BASE}/{kind}"
    answer = ask(app, f"{path.partition('{')[0]}{quote(word, safe='')}")
    assert answer.status == 404
    assert problems(DOCUMENT["paths"][path]["get"], answer) == []


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/fleet", "/fleet"),
        ("/nodes", "/nodes"),
        ("/nodes/{name}", f"/nodes/{NODE}"),
        ("/nodes/{name}", f"/nodes/{BAD}"),
        ("/racks/{name}", "/racks/rack_12"),
        ("/runs", "/runs"),
        ("/runs/{run}", "/runs/last"),
        ("/comparison", f"/comparison?before={FIRST}&after={SECOND}"),
        ("/progress", "/progress"),
    ],
)
def test_what_is_recorded_is_answered_with_its_document(app: Guard, path: str, target: str) -> None:
    answer = ask(app, BASE + target)
    assert answer.status == 200
    assert problems(DOCUMENT["paths"][BASE + path]["get"], answer) == []


def test_a_wrong_answer_does_not_match(app: Guard) -> None:
    answer = ask(app, f"{BASE}/fleet")
    answer.body = answer.body.replace(b'"delivered":4', b'"delivered":"4"').replace(b'"without_rack"', b'"other"')
    assert len(problems(DOCUMENT["paths"][f"{BASE}/fleet"]["get"], answer)) >= 3


def test_the_document_is_served(app: Guard) -> None:
    assert ask(app, "/openapi.json").json() == {**DOCUMENT, "info": ask(app, "/openapi.json").json()["info"]}


def test_findings_have_the_codes_of_the_history_of_their_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_site(tmp_path)
    (found,) = ask(app_of(tmp_path), f"{BASE}/nodes/{BAD}").json()["findings"]["not_good"]
    assert call(["--state-dir", str(tmp_path), "history", BAD, "-o", "json"]) == 0
    (recorded,) = json.loads(capsys.readouterr().out)["findings"]["not_good"]
    assert {k: found[k] for k in recorded if k != "hint"} == {k: v for k, v in recorded.items() if k != "hint"}
    assert found["component"]
