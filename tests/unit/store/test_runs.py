"""Runs, and runs without a recorded end."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters import clock, processes
from clusterctl.adapters.store import Store
from clusterctl.core import timestamps
from clusterctl.model.errors import StoreError, UnknownRunError
from clusterctl.model.holder import Holder
from clusterctl.model.records import RunNodeRow, RunStatus
from clusterctl.model.state import State
from support.stores import a_node, a_run, bring, fresh

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.model.records import RunRow

NAME = "r12-n01"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = fresh(tmp_path)
    store.register([a_node()])
    return store


def _killed() -> RunRow:
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    return replace(a_run("20260314-080000-provision-dead"), holder=replace(processes.current(), pid=ended.pid))


def test_a_run_is_read_as_it_was_stored(store: Store) -> None:
    run = a_run(directory="/state/runs/x")
    store.start_run(run, [NAME])
    assert store.run("last") == replace(run, holder=processes.current())
    record = store.node(NAME)
    assert record is not None
    assert record.last_run == run.id
    store.finish_run(run.id, RunStatus.DONE, 7, {"admitted": 5})
    ended = store.run(run.id)
    assert (ended.status, ended.exit_code, ended.summary) == (RunStatus.DONE, 7, {"admitted": 5})
    assert ended.finished_at >= run.started_at


def test_a_run_is_found_by_a_unique_prefix(store: Store) -> None:
    store.start_run(a_run("20260314-090000-provision-aaaa"))
    store.start_run(a_run("20260314-090000-validate-bbbb"))
    assert store.run("20260314-090000-v").verb == "provision"
    with pytest.raises(UnknownRunError, match="several"):
        store.run("20260314")
    for wrong in ("2027", "", "%", "_" * 8):
        with pytest.raises(UnknownRunError) as caught:
            store.run(wrong)
        assert caught.value.hint


def test_without_runs_the_last_run_is_an_error(store: Store) -> None:
    with pytest.raises(UnknownRunError):
        store.run("last")


def test_the_progress_of_a_run_is_stored(store: Store) -> None:
    run = a_run()
    store.start_run(run, [NAME])
    assert store.run_nodes(run.id) == (RunNodeRow(run.id, NAME),)
    store.save_run_node(run.id, NAME, phase="validate", outcome="ok", detail="x")
    assert store.run_nodes(run.id) == (RunNodeRow(run.id, NAME, "validate", "ok", "x"),)
    assert [r.id for r in store.runs(node=NAME)] == [run.id]
    assert store.runs(node="r99-n01") == ()


def test_a_live_run_is_not_unfinished(store: Store) -> None:
    store.start_run(a_run(), [NAME])
    assert store.unfinished_runs() == ()


def test_a_killed_run_is_unfinished_and_its_nodes_are_in_progress(store: Store) -> None:
    run = _killed()
    store.start_run(run, [NAME])
    bring(store, NAME, State.PROVISIONING, run_id=run.id)
    assert [r.id for r in store.unfinished_runs()] == [run.id]
    assert store.nodes_in_progress(run.id) == (NAME,)
    bring(store, NAME, State.PROVISIONING, run_id="20260314-090000-provision-next")
    assert store.nodes_in_progress(run.id) == ()


def test_an_ended_run_is_not_unfinished(store: Store) -> None:
    run = _killed()
    store.start_run(run)
    store.finish_run(run.id, RunStatus.INTERRUPTED, 9, {})
    assert store.unfinished_runs() == ()


def test_a_run_on_another_host_is_unfinished_when_its_lease_expires(store: Store) -> None:
    run = replace(a_run(), holder=Holder("elsewhere", 1, "x/y/z"))
    store.start_run(run, [NAME])
    assert store.unfinished_runs() == ()
    store.acquire([NAME], run_id=run.id, holder="alice", ttl_s=-1)
    assert [r.id for r in store.unfinished_runs()] == [run.id]


def test_a_run_on_another_host_without_lease_is_unfinished_after_a_day(store: Store) -> None:
    moment = timestamps.after(clock.now(), -100_000)
    store.start_run(replace(a_run(), started_at=moment, holder=Holder("elsewhere", 1, "x/y/z")))
    assert len(store.unfinished_runs()) == 1


def test_a_run_with_an_unknown_node_is_not_recorded(store: Store) -> None:
    with pytest.raises(StoreError):
        store.start_run(a_run(), [NAME, "r99-n01"])
    assert store.runs() == ()


def test_a_state_directory_can_be_moved(tmp_path: Path) -> None:
    with fresh(tmp_path / "before") as store:
        store.start_run(a_run(directory=str(tmp_path / "before" / "runs" / "x")))
        store.start_run(a_run("20260314-100000-provision-bbbb", directory="/elsewhere/runs/y"))
        assert store.run(a_run().id).directory == str(tmp_path / "before" / "runs" / "x")
    (tmp_path / "before").rename(tmp_path / "after")
    assert str(tmp_path).encode() not in (tmp_path / "after" / "clusterctl.db").read_bytes()
    with Store.open(f"sqlite:///{tmp_path / 'after' / 'clusterctl.db'}") as store:
        assert store.run(a_run().id).directory == str(tmp_path / "after" / "runs" / "x")
        assert store.run("20260314-100000-provision-bbbb").directory == "/elsewhere/runs/y"
