"""Each route answers; what is unknown is 404, what is not a read, 405, and what a node says is text."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, NoReturn

import pytest

from clusterctl.model.errors import StoreError
from clusterctl.serve.api import BASE, ENDPOINTS
from clusterctl.serve.app import routed, web_app
from clusterctl.serve.guard import HEADERS
from clusterctl.serve.progress_events import EVENTS_PATH
from clusterctl.terminal.status import show_status
from clusterctl.workflows.browse import Browser
from clusterctl.workflows.status import hardware_of_all, overview
from support.asgi import ask
from support.stores import fresh
from support.web_site import BAD, FIRST, LONELY, LOOPBACK, NODE, PLANNED, SECOND, SILENT, app_of, store_url, write_site

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.serve.guard import Guard

HOSTILE = "</td><script>alert(1)</script>\"'><img src=x onerror=alert(1)>\x1b[2J\u202e{{ 7*7 }}"
PAGES = {
    "/": (
        "4 nodes delivered",
        "2 withheld",
        "2 GPUs, 2 healthy",
        "rack_12",
        "1/2",
        "degraded",
        "rack_13",
        "out of service",
        "1 node without a rack",
    ),
    "/?condition=degraded": ("rack_12",),
    "/racks/rack_12": (NODE, BAD, "1 of 2 nodes admitted", "2 &times; H100"),
    "/nodes": (NODE, BAD, SILENT, "unreachable", "held by bob", "SYS-1"),
    "/nodes?state=admitted": ("1 node", NODE),
    "/nodes?rack=": ("spare", "in no rack"),
    f"/nodes/{NODE}": ("196.4", "201.5", "180 Gb/s", "GPU-9", "GPU-1 until", "Held by bob", "compare with the one before", "simulated"),
    f"/nodes/{BAD}": ("hugepages.pages[1G].running", "reboot", "98.1 Gb/s", "by bob", "It was never admitted"),
    f"/nodes/{SILENT}": ("unreachable at", "no route to host"),
    f"/nodes/{LONELY}": ("It was never validated", "Nothing was measured", "No part is recorded"),
    "/runs": (FIRST, SECOND, "provision", "data-events"),
    f"/runs/{FIRST}": ("exit 7", "a burn-in gate failed", "burnin", "rdma_pair"),
    "/runs/last": (SECOND,),
    "/compare": ("unique prefix",),
    f"/compare?before={FIRST}&after={SECOND}": ("nccl_node", "only after"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site")
    write_site(made)
    return made


@pytest.fixture(scope="module")
def app(folder: Path) -> Guard:
    return app_of(folder)


def words_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", "", html).split())


@pytest.mark.parametrize("path", PAGES)
def test_a_page_shows_its_part_of_the_record(app: Guard, path: str) -> None:
    answer = ask(app, path)
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert [w for w in PAGES[path] if w not in words_of(answer.text) and w not in answer.text] == []


def test_a_filter_leaves_out_the_others(app: Guard) -> None:
    assert "rack_13" not in ask(app, "/?condition=degraded").text
    assert BAD not in ask(app, "/nodes?state=admitted").text
    assert NODE not in ask(app, "/nodes?rack=").text


def test_newly_delivered_nodes_are_found_by_time(app: Guard) -> None:
    (node,) = ask(app, f"{BASE}/nodes?state=admitted").json()["nodes"]
    for since, found in (("2026-03-01", 1), (node["since"], 1), (node["since"][:19] + "Z", 1), ("2999-01-01T00:00:00Z", 0)):
        assert ask(app, f"{BASE}/nodes?state=admitted&since={since}").json()["total"] == found, since


def test_a_polled_node_has_identity_hardware_and_the_time_since_when_it_is_there(app: Guard) -> None:
    node = ask(app, f"{BASE}/nodes/{NODE}").json()["node"]
    assert (node["serial"], node["gpu_model"], node["gpus"], node["healthy"], node["rack"]) == ("SYS-1", "H100", 2, True, "rack_12")
    assert node["admitted_at"] == node["since"]
    bad = ask(app, f"{BASE}/nodes/{BAD}").json()["node"]
    assert (bad["healthy"], bad["admitted_at"], bad["gpus"]) == (False, None, None)


def test_a_part_of_the_nodes_at_a_time(app: Guard) -> None:
    whole = ask(app, f"{BASE}/nodes").json()["nodes"]
    parts = [ask(app, f"{BASE}/nodes?limit=1&offset={i}").json() for i in range(5)]
    assert [n for p in parts for n in p["nodes"]] == whole
    assert {p["total"] for p in parts} == {4}


def test_measurements_have_the_values_of_earlier_runs_and_of_failures(app: Guard) -> None:
    series = ask(app, f"{BASE}/nodes/{NODE}").json()["measurements"]
    (pairs,) = [s for s in series if s["gate"] == "rdma_pair"]
    assert [(p["run_id"], p["value"]) for p in pairs["points"]] == [(FIRST, 196.4), (SECOND, 201.5)]
    (failed,) = ask(app, f"{BASE}/nodes/{BAD}").json()["measurements"]
    assert [(p["value"], p["outcome"]) for p in failed["points"]] == [(98.1, "fail")]


@pytest.mark.parametrize(
    "path", ["/nodes/no", "/nodes/r12", "/racks/no", "/racks/", "/runs/no", "/compare?before=no&after=no", "/no", "/%2e%2e/etc"]
)
def test_what_is_not_recorded_is_404(app: Guard, path: str) -> None:
    assert ask(app, path).status == 404
    known = path.startswith(("/nodes", "/racks", "/runs"))
    answer = ask(app, BASE + path) if known else ask(app, f"{BASE}/no")
    assert answer.status == 404
    assert answer.headers["content-type"] == "application/json"
    assert set(answer.json()) == {"detail", "hint"}


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=1001", "limit=x", "offset=-1", "state=good", "stat=admitted", "limit=1&limit=2", "since=yesterday"]
)
def test_an_impossible_parameter_is_400(app: Guard, query: str) -> None:
    for path in ("/nodes", f"{BASE}/nodes"):
        assert ask(app, f"{path}?{query}").status == 400


def test_a_missing_parameter_is_400(app: Guard) -> None:
    assert ask(app, f"{BASE}/comparison?before=last").json()["detail"] == "the parameter 'after' is missing"


def all_paths(folder: Path) -> list[str]:
    app = routed(Browser(store_url(folder)), lambda: True)
    return [re.sub(r"\{.*?\}", "x", getattr(r, "path", "")) for r in app.routes]


def test_every_other_method_is_405_on_every_route(app: Guard, folder: Path) -> None:
    paths = all_paths(folder)
    assert len(paths) > len(ENDPOINTS) + 8
    for path in (*paths, "/no"):
        for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND"):
            answer = ask(app, path, method=method)
            assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD"), (path, method)


def test_every_answer_has_the_headers_that_keep_others_out(app: Guard, folder: Path) -> None:
    for path in (*all_paths(folder), "/no"):
        for answer in (
            ask(app, path, method="HEAD"),
            ask(app, path, method="POST"),
            ask(app, path, headers={"host": "evil.example"}, host=False),
        ):
            assert {k: answer.headers[k.lower()] for k in HEADERS} == HEADERS, path
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


def test_a_page_loads_nothing_from_elsewhere_and_needs_no_inline_code(app: Guard) -> None:
    for path in PAGES:
        text = ask(app, path).text
        assert re.findall(r"""(?:src|href|action)="(?!/(?!/)|#)[^"]*""", text) == [], path
        assert re.search(r"<style|<script(?! src)|\son\w+=|\sstyle=", text) is None, path
    style = ask(app, "/style.css").text
    assert "url(" not in style
    assert "&gt;" not in style, "style is not HTML"
    assert "//" not in re.sub(r"^//.*$", "", ask(app, "/progress.js").text, flags=re.MULTILINE)


def test_links_lead_to_pages(app: Guard) -> None:
    found = {link.replace("&amp;", "&") for path in PAGES for link in re.findall(r'href="(/[^"#]*)', ask(app, path).text)}
    assert len(found) >= 20
    assert [link for link in found if ask(app, link).status != 200] == []


class Elements(HTMLParser):
    """Which elements and attributes a page has."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(a for a, _ in attrs)))


def elements(text: str) -> list[tuple[str, tuple[str, ...]]]:
    parser = Elements()
    parser.feed(text)
    # names that are long enough may break, which is not markup of theirs
    return [e for e in parser.found if e[0] != "wbr"]


def test_what_nodes_and_people_say_is_text(app: Guard, tmp_path: Path) -> None:
    write_site(tmp_path, HOSTILE)
    spoiled = app_of(tmp_path)
    for path in PAGES:
        plain, text = ask(app, path).text, ask(spoiled, path).text
        assert elements(text) == elements(plain), path
        assert "\x1b" not in text, path
        assert "\u202e" not in text, path
    assert HOSTILE in ask(spoiled, f"{BASE}/nodes/{BAD}").json()["node"]["reason"]


def test_a_hostile_name_in_an_address_is_text(app: Guard) -> None:
    for path in ("/nodes/%3Cscript%3E", "/racks/%3Cscript%3E", "/runs/%3Cscript%3E", "/%3Cscript%3E", "/nodes?state=%3Cscript%3E"):
        assert "<script>" not in ask(app, path).text


def test_the_documents_are_one_with_what_the_command_line_says(app: Guard, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show_status(overview(store_url(folder), "all"), "json", hardware_of_all(store_url(folder)))
    said = json.loads(capsys.readouterr().out)
    fleet, nodes = ask(app, f"{BASE}/fleet").json(), ask(app, f"{BASE}/nodes").json()["nodes"]
    assert (fleet["counts"], fleet["gpu_counts"]) == (said["counts"], said["gpu_counts"])
    assert fleet["states"] == said["summary"]
    assert [{k: r[k] for k in ("name", "condition", "admitted", "nodes")} for r in fleet["racks"]] == said["racks"]
    assert nodes == said["nodes"]


def test_planned_maintenance_is_on_the_page_of_its_node_and_in_the_api(app: Guard) -> None:
    planned = {"id": 1, "begins_at": PLANNED.begins_at, "ends_at": PLANNED.ends_at, "reason": "new switch ", "operator": "eve"}
    nodes = {n["name"]: n["planned_maintenance"] for n in ask(app, f"{BASE}/nodes").json()["nodes"]}
    assert {name: found for name, found in nodes.items() if found} == {NODE: [planned]}
    assert ask(app, f"{BASE}/nodes/{NODE}").json()["node"]["planned_maintenance"] == [planned]
    assert "Planned maintenance 1, " in ask(app, f"/nodes/{NODE}").text
    assert "Planned maintenance" not in ask(app, f"/nodes/{BAD}").text


def test_an_empty_record_is_an_empty_fleet(tmp_path: Path) -> None:
    fresh(tmp_path).close()
    app = app_of(tmp_path)
    assert "No node is recorded yet" in ask(app, "/").text
    for path in ("/nodes", "/runs", "/compare", f"{BASE}/fleet", f"{BASE}/nodes", f"{BASE}/runs", f"{BASE}/progress"):
        assert ask(app, path).status == 200


def test_a_record_that_cannot_be_read_is_503_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "clusterctl.db").write_bytes(b"no database" * 100)
    with pytest.raises(StoreError):
        Browser(store_url(tmp_path)).fleet()
    app = web_app(Browser(store_url(tmp_path)), LOOPBACK)
    answer = ask(app, f"{BASE}/fleet")
    assert answer.status == 503
    assert "clusterctl did not write this file" in answer.json()["hint"]
    assert ask(app, "/").status == 503


def test_asking_writes_nothing(folder: Path, app: Guard) -> None:
    database = folder / "clusterctl.db"
    before = database.read_bytes()
    for path in (*PAGES, f"{BASE}/fleet"):
        ask(app, path)
    assert database.read_bytes() == before


def test_the_head_of_a_stream_ends(app: Guard) -> None:
    answer = ask(app, EVENTS_PATH, method="HEAD")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/event-stream")


def test_an_unexpected_error_is_500_without_its_text(folder: Path) -> None:
    class Broken(Browser):
        def runs(self) -> NoReturn:
            raise RuntimeError("a secret")

    app = web_app(Broken(store_url(folder)), LOOPBACK)
    for path in ("/runs", f"{BASE}/runs"):
        with pytest.raises(RuntimeError):  # Starlette answers, and raises it again for the log
            ask(app, path)
        answer = ask(app, path, raises=False)
        assert answer.status == 500
        assert "a secret" not in answer.text
        assert "unexpected RuntimeError" in answer.text
