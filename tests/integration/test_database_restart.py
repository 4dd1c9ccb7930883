"""A PostgreSQL that restarts, or fails over, in the middle of a run: the run goes on. What has not begun yet reports at once that it does not answer."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.store import Store, server_wait
from clusterctl.model.errors import StoreError
from clusterctl.model.records import RunStatus
from clusterctl.model.state import State
from clusterctl.workflows.run import RunStart, recorded_run
from support.postgres import Server, binaries, restartable
from support.stores import a_node

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOOLS = binaries()
pytestmark = pytest.mark.skipif(TOOLS is None, reason="PostgreSQL's initdb is not installed: apt-get install postgresql")
NAME = "r12-n01"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    assert TOOLS is not None
    with restartable(TOOLS) as found:
        yield found


@contextmanager
def back_after(server: Server, pause_s: float) -> Iterator[None]:
    """Stopped now, and started beside the body."""

    def start() -> None:
        time.sleep(pause_s)
        server.start(within_s=30)

    server.stop()
    starting = threading.Thread(target=start)
    starting.start()
    try:
        yield
    finally:
        starting.join()


def run_of(folder: Path) -> RunStart:
    return RunStart("provision", "rack-12", "ada", folder, [NAME], leased=[NAME])


def lose(server: Server, store: Store, start: RunStart) -> None:
    with recorded_run(store, start):
        server.stop()
        store.nodes()


def test_a_run_goes_on_when_its_database_is_back(server: Server, tmp_path: Path) -> None:
    with Store.open(server.url) as store:
        store.register([a_node()])
        with recorded_run(store, run_of(tmp_path)) as run, back_after(server, 2):
            store.transition(NAME, State.PROVISIONING, run_id=run.rundir.id, operator="ada", reason="x")
        assert [r.status for r in store.runs() if r.id == run.rundir.id] == [RunStatus.DONE]
        assert store.nodes([NAME])[0].state is State.PROVISIONING
        assert store.leases() == ()


def test_a_run_whose_database_stays_away_ends_with_its_error(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_wait, "LIMIT_S", 1.0)
    try:
        with Store.open(server.url) as store:
            began = time.monotonic()
            with pytest.raises(StoreError):
                lose(server, store, run_of(tmp_path))
            waited_s = time.monotonic() - began
    finally:
        server.start(within_s=30)
    assert 1.0 < waited_s < 10


def test_outside_of_a_run_nothing_waits(server: Server) -> None:
    with Store.open(server.url) as store:
        with back_after(server, 3):
            began = time.monotonic()
            with pytest.raises(StoreError):
                store.nodes()
            assert time.monotonic() - began < 2
        store.nodes()
