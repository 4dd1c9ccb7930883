"""What still runs on nodes that were taken out, and waiting for it."""

from __future__ import annotations

from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.pools.vacating import busy, busy_text, vacate, wait_until_empty
from clusterctl.model.errors import PoolUnreachableError
from support.stores import fresh

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    Answers = Iterator[Mapping[str, str] | PoolUnreachableError]

LOST = PoolUnreachableError(detail="slurmctld does not answer", hint="`scontrol ping`")


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


def test_a_scheduler_that_restarts_meanwhile_is_waited_for() -> None:
    answers: Answers = iter([{"n1": "job 1", "n2": "job 1"}, LOST, LOST, {"n2": "job 1"}, {}])
    told: list[Mapping[str, str]] = []
    assert wait_until_empty(partial(_next, answers), told.append, limit_s=60, pause_s=0) == {}
    silent = "not known now: slurmctld does not answer"
    assert told == [{"n1": "job 1", "n2": "job 1"}, {"n1": silent, "n2": silent}, {"n2": "job 1"}]


def test_nodes_of_a_silent_scheduler_are_in_use_until_it_answers() -> None:
    answers: Answers = chain([{"n1": "job 1"}], repeat(LOST))
    found = wait_until_empty(partial(_next, answers), lambda _: None, limit_s=0.05, pause_s=0.01)
    assert found == {"n1": "not known now: slurmctld does not answer"}


@pytest.mark.parametrize("before", [[], [{"n1": "job 1"}]], ids=["from the start", "for longer than it takes to start"])
def test_a_scheduler_that_stays_silent_ends_the_wait(before: list[Mapping[str, str]]) -> None:
    with pytest.raises(PoolUnreachableError):
        wait_until_empty(partial(_next, chain(before, repeat(LOST))), lambda _: None, limit_s=60, pause_s=0.01, silence_s=0.02)


def _next(answers: Answers) -> Mapping[str, str]:
    answer = next(answers)
    if isinstance(answer, PoolUnreachableError):
        raise answer
    return answer


def test_a_pool_without_jobs_has_nothing_to_wait_for(tmp_path: Path) -> None:
    pool = LocalPool.create(fresh(tmp_path))
    assert vacate(pool, ["r12-n01"], lambda _busy: None) == busy(pool, ["r12-n01"]) == {}


def test_the_text_of_what_runs_is_sorted() -> None:
    assert busy_text({"n2": "job 2 of bob", "n1": "job 1 of eve, 3 of eve"}) == "n1: job 1 of eve, 3 of eve; n2: job 2 of bob"
