"""What still runs on nodes that were taken out, and waiting for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.pools.vacating import busy, busy_text, vacate, wait_until_empty
from support.stores import fresh

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def test_it_waits_until_nothing_runs_and_tells_each_change_once() -> None:
    answers = iter([{"n1": "job 1", "n2": "job 1"}, {"n1": "job 1", "n2": "job 1"}, {"n2": "job 1"}, {}])
    told: list[Mapping[str, str]] = []
    assert wait_until_empty(lambda: next(answers), told.append, limit_s=60, pause_s=0) == {}
    assert told == [{"n1": "job 1", "n2": "job 1"}, {"n2": "job 1"}]


def test_at_the_limit_it_names_what_still_runs() -> None:
    told: list[Mapping[str, str]] = []
    assert wait_until_empty(lambda: {"n1": "job 1"}, told.append, limit_s=0.05, pause_s=0.01) == {"n1": "job 1"}
    assert told == [{"n1": "job 1"}]
    assert wait_until_empty(lambda: {"n1": "job 1"}, told.append, limit_s=0, pause_s=1) == {"n1": "job 1"}


def test_a_pool_without_jobs_has_nothing_to_wait_for(tmp_path: Path) -> None:
    pool = LocalPool.create(fresh(tmp_path))
    assert vacate(pool, ["r12-n01"], lambda _busy: None) == busy(pool, ["r12-n01"]) == {}


def test_the_text_of_what_runs_is_sorted() -> None:
    assert busy_text({"n2": "job 2 of bob", "n1": "job 1 of eve, 3 of eve"}) == "n1: job 1 of eve, 3 of eve; n2: job 2 of bob"
