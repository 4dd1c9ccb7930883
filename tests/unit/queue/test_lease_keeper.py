"""A run learns that its nodes are no longer its own: another worker has the shard, or nobody could renew the leases for as long as they live."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from itertools import count

import pytest

from clusterctl.model.errors import StaleTokenError, StoreError
from clusterctl.workflows.run import LeaseKeeper

TTL_S = 0.06
DOWN = StoreError(path="db", detail="the server closed the connection", hint="")


@dataclass
class Answers:
    """A store whose renewals end as given, the last one for ever."""

    renewals: list[int | Exception]
    asked: int = 0
    enough: threading.Event = field(default_factory=threading.Event)

    def renew(self, _run_id: str, _ttl_s: float) -> int:
        answer = self.renewals[min(self.asked, len(self.renewals) - 1)]
        self.asked += 1
        if self.asked > len(self.renewals):
            self.enough.set()
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def lost() -> threading.Event:
    return threading.Event()


def kept(answers: Answers, lost: threading.Event) -> LeaseKeeper:
    keeper = LeaseKeeper(answers, "r1", 2, lost, TTL_S)  # type: ignore[arg-type]
    keeper.start()
    return keeper


LOST: dict[str, list[int | Exception]] = {
    "another worker has the shard": [2, StaleTokenError(shard_id=1, token=1, newest=2)],
    "another run has one of the nodes": [2, 1],
    "no answer for a lifetime": [2, DOWN],
}


@pytest.mark.parametrize("case", LOST)
def test_lost(case: str, lost: threading.Event) -> None:
    kept(Answers(LOST[case]), lost)
    assert lost.wait(5)


@pytest.fixture(params=[[2], [2, DOWN, 2, DOWN, 2]], ids=["renewed", "one answer in two"])
def answers(request: pytest.FixtureRequest) -> Answers:
    return Answers(request.param)


def test_kept(answers: Answers, lost: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()
    monkeypatch.setattr("clusterctl.workflows.run.time.monotonic", lambda: next(ticks) * TTL_S / 3)  # however busy this machine is
    keeper = kept(answers, lost)
    assert answers.enough.wait(5)
    keeper.end()
    keeper.join(5)
    assert not lost.is_set()
