"""The pages of a fleet of 12,500 nodes: small, and there within a second."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from clusterctl.model.own_history import LAST_RUNS
from clusterctl.serve.api import BASE
from support.asgi import ask
from support.web_site import app_of, measure_fleet, write_fleet

if TYPE_CHECKING:
    from clusterctl.serve.guard import Guard

RACKS, PER_RACK = 3125, 4
LIMIT_BYTES, LIMIT_S = 200_000, 1.0
FIRST_RACK = "dc1-hall2-r0001"
NODE = f"/nodes/{FIRST_RACK}-n01"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Guard:
    folder = tmp_path_factory.mktemp("fleet")
    write_fleet(folder, RACKS, PER_RACK)
    # Those that are read are measured, so that as much is read as where all are.
    measure_fleet(folder, LAST_RUNS, figures=13, devices=8, measured=25)
    made = app_of(folder)
    ask(made, "/")  # templates are read at the first page
    return made


@pytest.mark.parametrize(
    "path", ["/", "/?condition=degraded&offset=600", f"/racks/{FIRST_RACK}", "/nodes", NODE, f"{BASE}/nodes", BASE + NODE]
)
def test_a_page_is_small_and_quick(app: Guard, path: str) -> None:
    spent = []
    for _ in range(3):  # the least of three: other processes share the cores
        begin = time.perf_counter()
        answer = ask(app, path)
        spent.append(time.perf_counter() - begin)
    assert answer.status == 200
    assert len(answer.body) <= LIMIT_BYTES
    assert min(spent) <= LIMIT_S, spent


def test_the_node_that_was_measured_is_as_large_and_slow_as_it_gets(app: Guard) -> None:
    found = ask(app, BASE + NODE).json()["measurements"]
    assert (len(found), {len(s["points"]) for s in found}) == (13 * 8, {LAST_RUNS})
    assert all(day["nodes"] == 25 for s in found for day in s["fleet"])


def test_all_racks_are_on_some_page(app: Guard) -> None:
    found = set()
    for offset in range(0, RACKS, 600):
        text = ask(app, f"/?offset={offset}").text
        found |= {part.split('"')[0] for part in text.split('href="/racks/')[1:]}
        assert (f'offset={offset + 600}"' in text) == (offset + 600 < RACKS)
    assert len(found) == RACKS


def test_all_nodes_are_counted(app: Guard) -> None:
    fleet = ask(app, f"{BASE}/fleet").json()
    assert (fleet["counts"]["delivered"], fleet["counts"]["healthy"]) == (RACKS * PER_RACK, RACKS * (PER_RACK - 1))
    assert len(fleet["racks"]) == RACKS
