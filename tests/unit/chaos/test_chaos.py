"""A few kill points; and what the tool says where `provision` is broken on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chaos.databases import PostgresDatabases, SqliteFiles
from chaos.rack import SCENARIOS
from chaos.rounds import Score, chosen, in_child, play, prepare
from clusterctl.adapters import run_directory
from clusterctl.adapters.store.leases import LeaseRepository
from clusterctl.workflows.provision import flow
from support.postgres import binaries, server

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

TOOLS = binaries()


def score(folder: Path, name: str, points: int, *, power_loss: bool = False) -> Score:
    found = Score()
    scenario = prepare(name, folder, SqliteFiles())
    for point in chosen(len(scenario.boundaries), points):
        play(scenario, point, found, power_loss=power_loss)
    return found


@pytest.mark.parametrize("power_loss", [False, True])
@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_anywhere_the_same_command_reaches_the_same_state(tmp_path: Path, name: str, *, power_loss: bool) -> None:
    found = score(tmp_path, name, 12, power_loss=power_loss)
    assert found.kill_points == 12
    assert found.clean, found


def test_a_node_that_is_changed_in_the_pool_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusterctl.workflows.provision.apply.take_out", lambda *_: False)
    assert score(tmp_path, "drifted", 12).wrong_admissions


@pytest.mark.skipif(TOOLS is None, reason="PostgreSQL's initdb is not installed: apt-get install postgresql")
def test_on_postgresql(tmp_path: Path) -> None:
    assert TOOLS is not None
    found = Score()
    with server(TOOLS) as url:
        scenario = prepare("fresh", tmp_path, PostgresDatabases(url))
        for point in chosen(len(scenario.boundaries), 4):
            play(scenario, point, found)
    assert found.kill_points == 4
    assert found.clean, found


def unsynced_write(path: Path, parts: Iterable[str]) -> None:
    path.write_text("".join(parts))
    run_directory._sync_folder(path.parent)


@pytest.mark.parametrize(("name", "worse"), [("_sync_folder", lambda _: None), ("_write", unsynced_write)])
def test_records_that_are_not_synced_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, worse: object) -> None:
    monkeypatch.setattr(run_directory, name, worse)
    assert score(tmp_path, "fresh", 12, power_loss=True).wrong_admissions


def test_leases_that_stay_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LeaseRepository, "release", lambda *_: 0)
    assert score(tmp_path, "fresh", 1).stale_leases


def test_another_end_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = prepare("fresh", tmp_path, SqliteFiles())
    monkeypatch.setattr(flow, "quarantine_unrepairable", lambda context, _known: context.begin(()))
    found = Score()
    play(scenario, 1, found)
    assert found.divergent_final_states


def test_a_process_that_was_not_killed_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="was not killed"):
        in_child(lambda: None, killed=True)


@pytest.mark.parametrize(("total", "limit", "points"), [(3, 0, [1, 2, 3]), (3, 9, [1, 2, 3]), (10, 2, [1, 6])])
def test_points_at_equal_distances(total: int, limit: int, points: list[int]) -> None:
    assert list(chosen(total, limit)) == points
