"""A node of the web view is shown beside the fleet as the report shows it, by a number of results that no fleet makes larger."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event, insert

from clusterctl.adapters.store import fleet_sample, tables
from clusterctl.core.fleet_days import LEAST_NODES
from clusterctl.core.node_curves import curve_key
from clusterctl.model.own_history import LAST_RUNS
from clusterctl.serve.api import BASE
from clusterctl.workflows.collect_curves import with_curves
from clusterctl.workflows.collect_report import collect
from support.asgi import ask
from support.nights import DEVICES, NIGHT_BAD, NIGHT_NAMES, night_run, write_nights
from support.stores import a_node, fresh
from support.web_site import app_of

if TYPE_CHECKING:
    from clusterctl.adapters.store import Store
    from clusterctl.model.records import RunRow


def series(folder: Path, node: str = NIGHT_BAD, device: str = DEVICES[1]) -> dict[str, Any]:
    found = ask(app_of(folder), f"{BASE}/nodes/{node}").json()["measurements"]
    (one,) = [s for s in found if s["device"] == device]
    assert isinstance(one, dict)
    return one


def days(folder: Path, node: str = NIGHT_BAD) -> list[Any]:
    return [d and (d["day"], d["nodes"], d["low"], d["median"], d["high"]) for d in series(folder, node)["fleet"]]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return fresh(tmp_path)


def test_each_value_has_what_the_fleet_read(store: Store, tmp_path: Path) -> None:
    write_nights(store, range(1, 5), bad_in=4)
    assert days(tmp_path) == [(f"2026-03-{i:02d}", 9, 191.0, 195.0, 199.0) for i in range(1, 4)] + [days(tmp_path)[3]]
    # In the fourth night one of the fleet, the node itself, is the lowest.
    assert days(tmp_path)[3][:2] == ("2026-03-04", 9)
    assert days(tmp_path)[3][2] < 191.0


def test_it_is_the_band_of_the_report(store: Store, tmp_path: Path) -> None:
    run = write_nights(store, range(1, 9), bad_in=8)
    (curve,) = with_curves(store, collect(store, run, Path("/"))).curves.drawn
    shown = [d and (d.day, d.nodes, d.low, d.median, d.high) for d in curve.series.fleet]
    assert days(tmp_path) == shown[-LAST_RUNS:]
    assert all(shown)


def test_the_page_shows_it_in_words_and_as_an_area(store: Store, tmp_path: Path) -> None:
    write_nights(store, range(1, 5), bad_in=9)
    html = ask(app_of(tmp_path), f"/nodes/{NIGHT_NAMES[3]}").text
    assert html.count("195 (191 to 199), 9 nodes") == len(DEVICES)
    assert html.count("<polygon") == html.count('<polyline class="median"') == len(DEVICES)


def test_a_node_alone_is_compared_with_the_last_day_of_the_fleet(store: Store, tmp_path: Path) -> None:
    write_nights(store, range(1, 3), bad_in=9)
    write_nights(store, range(3, 4), bad_in=9, names=(NIGHT_BAD,))
    assert [d and d[0] for d in days(tmp_path)] == ["2026-03-01", "2026-03-02", "2026-03-02"]
    html = ask(app_of(tmp_path), f"/nodes/{NIGHT_BAD}").text
    assert "9 nodes on 2026-03-02" in html


def test_a_single_value_beside_the_fleet_is_drawn(store: Store, tmp_path: Path) -> None:
    write_nights(store, range(1, 2), bad_in=9)
    assert "<polygon" in ask(app_of(tmp_path), f"/nodes/{NIGHT_BAD}").text


def test_too_few_nodes_are_no_fleet(store: Store, tmp_path: Path) -> None:
    write_nights(store, range(1, 3), bad_in=9, names=NIGHT_NAMES[: LEAST_NODES - 1])
    assert days(tmp_path) == [None, None]
    assert "<polygon" not in ask(app_of(tmp_path), f"/nodes/{NIGHT_BAD}").text


def test_other_profiles_are_no_fleet_of_a_node(store: Store, tmp_path: Path) -> None:
    write_nights(store, range(1, 3), bad_in=9)
    store.register([replace(a_node(n, slot=i), groups=("all", "profile_other")) for i, n in enumerate(NIGHT_NAMES[1:], 2)])
    assert days(tmp_path) == [None, None]


def figures(store: Store, run: RunRow) -> set[Any]:
    return {curve_key(r).figure for r in store.gate_results(NIGHT_BAD, run.id)}


def test_of_a_large_run_some_nodes_are_read_evenly_spread(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run = write_nights(store, range(1, 2), bad_in=9)
    profile = store.node(NIGHT_BAD)
    assert profile
    found = {}
    for most in (1, 5, 9, 100):
        monkeypatch.setattr(fleet_sample, "_OF_RUN", most)
        found[most] = store.fleet_of_runs(figures(store, run), profile.profile, [run.id])
    (five,), (nine,) = found[5].values(), found[9].values()
    assert found[1] == {}
    assert (five[0].nodes, nine[0].nodes) == (5, 9)
    # The first five of the nine read 191 to 195.
    assert (five[0].low, five[0].median, five[0].high) == (191.0, 195.0, 199.0)
    assert found[100] == found[9]


def test_results_from_long_ago_are_not_read(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_nights(store, range(1, 5), bad_in=9)
    monkeypatch.setattr(fleet_sample, "_OF_NODE", 2 * len(DEVICES))
    assert [d and d[0] for d in days(tmp_path)] == [None, None, "2026-03-03", "2026-03-04"]
    monkeypatch.setattr(fleet_sample, "_OF_RUNS", LEAST_NODES - 1)
    assert days(tmp_path) == [None] * 4


def test_the_number_of_rows_does_not_grow_with_the_fleet(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run = write_nights(store, range(1, 2), bad_in=9)
    more = [f"x{i:05d}" for i in range(2000)]
    store.register([a_node(n, rack=f"r{i}") for i, n in enumerate(more)])
    store.start_run(replace(night_run(2), id="x"), more)
    with store._engine.begin() as connection:
        (row,) = connection.execute(tables.gate_results.select().limit(1)).mappings()
        connection.execute(insert(tables.gate_results), [{**row, "id": None, "run_id": "x", "node": n} for n in more])
    read: list[tuple[Any, ...]] = []
    event.listen(store._engine, "before_cursor_execute", lambda _c, _k, _s, parameters, _x, _m: read.append(tuple(parameters)))
    profile = store.node(NIGHT_BAD)
    assert profile
    (found,) = store.fleet_of_runs(figures(store, run), profile.profile, [run.id, "x"]).values()
    assert {d.day: d.nodes for d in found} == {"2026-03-01": 9, "2026-03-02": 25}
    assert max(len([p for p in one if p in set(more)]) for one in read) == 25
