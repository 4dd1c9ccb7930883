"""The clock of the controller jumps in the middle of a run: nothing is lost, and nobody else gets its nodes."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters import clock
from clusterctl.adapters.store import Store
from clusterctl.model.errors import LeaseHeldError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.records import RunStatus
from clusterctl.model.state import State
from support.provisioning import World

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("days", [2, -2])
def test_the_clock_jumps_during_burn_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int) -> None:
    world = World(tmp_path, bad={"r12-n01": {"kernel"}})
    refused: list[LeaseHeldError] = []

    class Jumped(dt.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return dt.datetime.now(tz) + dt.timedelta(days=days)

    def jump(what: str) -> None:
        if what == "burn_in":
            monkeypatch.setattr(clock, "datetime", Jumped)
            with Store.open(world.url) as store, pytest.raises(LeaseHeldError) as caught:
                store.acquire(["r12-n01"], run_id="other", holder="grace")
            refused.append(caught.value)

    world.before = jump
    assert world.run().exit_code is ExitCode.OK
    assert len(refused) == 1
    assert set(world.states().values()) == {State.ADMITTED}
    assert world.run().exit_code is ExitCode.OK, "the next run finds everything as declared"
    with Store.open(world.url) as store:
        assert store.leases() == ()
        assert {r.status for r in store.runs()} == {RunStatus.DONE}
        assert [s.to_state for s in store.history("r12-n01")][-1] is State.ADMITTED
