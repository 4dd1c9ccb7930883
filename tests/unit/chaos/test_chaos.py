"""A few kill points; and what the tool says where `provision` is broken on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chaos.rack import SCENARIOS
from chaos.rounds import Score, chosen, in_child, play, prepare
from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.store.leases import LeaseRepository
from clusterctl.workflows.provision import flow

if TYPE_CHECKING:
    from pathlib import Path


def score(folder: Path, name: str, points: int) -> Score:
    found = Score()
    scenario = prepare(name, folder)
    for point in chosen(len(scenario.boundaries), points):
        play(scenario, point, found)
    return found


@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_anywhere_the_same_command_reaches_the_same_state(tmp_path: Path, name: str) -> None:
    found = score(tmp_path, name, 12)
    assert found.kill_points == 12
    assert found.clean, found


def test_a_node_that_is_changed_in_the_pool_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalPool, "remove", lambda *_: False)
    assert score(tmp_path, "drifted", 12).wrong_admissions


def test_leases_that_stay_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LeaseRepository, "release", lambda *_: 0)
    assert score(tmp_path, "fresh", 1).stale_leases


def test_another_end_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = prepare("fresh", tmp_path)
    monkeypatch.setattr(flow, "quarantine_unrepairable", lambda context, _plan: context.active.clear())
    found = Score()
    play(scenario, 1, found)
    assert found.divergent_final_states


def test_a_process_that_was_not_killed_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="was not killed"):
        in_child(lambda: None, killed=True)


@pytest.mark.parametrize(("total", "limit", "points"), [(3, 0, [1, 2, 3]), (3, 9, [1, 2, 3]), (10, 2, [1, 6])])
def test_points_at_equal_distances(total: int, limit: int, points: list[int]) -> None:
    assert list(chosen(total, limit)) == points
