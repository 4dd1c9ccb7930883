"""Kills of runs whose scheduler loses answers: a few, and what the tool says where pool and record are compared no more."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from chaos.lost_answers import PoolScore, play_all
from chaos.schedulers import POOLS, SCHEDULES, scheduler
from clusterctl.adapters.store import Store

if TYPE_CHECKING:
    from pathlib import Path


def score(kind: str, folder: Path, points: int, schedule: str, scenario: str = "fresh") -> PoolScore:
    with ExitStack() as stack:
        chosen = [s for s in SCHEDULES if s["name"] == schedule]
        return play_all(scheduler(kind, folder, stack), [scenario], folder, points, chosen)


@pytest.mark.parametrize("kind", POOLS)
def test_killed_anywhere_nothing_is_in_without_an_admission(kind: str, tmp_path: Path) -> None:
    found = score(kind, tmp_path, 3, "nothing is shown after an admission", "drifted")
    assert found.rounds == 3
    assert found.clean, found.findings


@pytest.mark.parametrize("kind", POOLS)
def test_an_admission_that_is_not_read_back_is_noticed(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusterctl.workflows.admit.put_in", lambda pool, node, reason: pool.admit(node, reason))
    assert score(kind, tmp_path, 1, "the scheduler acts and refuses").in_without_admission


def test_doubts_are_reached_and_settled(tmp_path: Path) -> None:
    found = score("local", tmp_path, 3, "the scheduler dies after an admission")
    assert found.in_doubt
    assert found.clean, found.findings


def test_a_doubt_that_nobody_settles_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "end_doubt", lambda *_: None)
    assert score("local", tmp_path, 3, "the scheduler dies after an admission").left_over
