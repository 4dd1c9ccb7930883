"""Only one run at a time holds a node; the leases of dead processes are taken over."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import update

from clusterctl.adapters import clock, processes
from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.engine import writing
from clusterctl.core import timestamps
from clusterctl.model.errors import LeaseHeldError
from clusterctl.model.holder import Holder
from clusterctl.workflows.lease import lease_for
from support.lease_race import acquire_in_race
from support.stores import fresh

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.store import Store

NAMES = ["r12-n01", "r12-n02"]


def _other_process(store: Store, **values: object) -> None:
    with writing(store._engine) as connection:
        connection.execute(update(t.leases).values(**values))


def test_the_error_names_holder_start_and_expiry(tmp_path: Path) -> None:
    store = fresh(tmp_path)
    store.acquire(NAMES, run_id="run-1", holder="alice")
    with pytest.raises(LeaseHeldError, match=r"r12-n02 is held by alice \(run run-1\) since 20") as caught:
        store.acquire(["r12-n02", "r12-n03"], run_id="run-2", holder="bob")
    assert "elsewhere at 20" in caught.value.hint
    assert [x.node for x in store.leases()] == NAMES


def test_release_frees_all_nodes(tmp_path: Path) -> None:
    store = fresh(tmp_path)
    store.acquire(NAMES, run_id="run-1", holder="alice")
    assert store.release("run-1") == 2
    store.acquire(NAMES, run_id="run-2", holder="bob")
    assert {x.run_id for x in store.leases()} == {"run-2"}


def test_acquiring_again_renews(tmp_path: Path) -> None:
    store = fresh(tmp_path)
    store.acquire(NAMES, run_id="run-1", holder="alice", ttl_s=10)
    before = store.leases()[0].expires_at
    store.acquire(NAMES, run_id="run-1", holder="alice", ttl_s=100)
    assert store.leases()[0].expires_at > before
    assert store.renew("run-1", 1000) == 2
    assert store.leases()[0].expires_at > timestamps.after(clock.now(), 900)


def test_a_living_process_keeps_its_nodes_whatever_the_clock_says(tmp_path: Path) -> None:
    store = fresh(tmp_path)
    store.acquire(NAMES, run_id="run-1", holder="alice", ttl_s=-1)
    with pytest.raises(LeaseHeldError):
        store.acquire(NAMES, run_id="run-2", holder="bob")


def test_an_expired_lease_of_another_host_is_taken_over(tmp_path: Path) -> None:
    store = fresh(tmp_path)
    store.acquire(NAMES, run_id="run-1", holder="alice", ttl_s=-1)
    _other_process(store, host="elsewhere")
    store.acquire(NAMES, run_id="run-2", holder="bob")
    assert store.renew("run-1") == 0
    assert {x.holder for x in store.leases()} == {"bob"}


def test_the_lease_of_a_dead_process_is_taken_over(tmp_path: Path) -> None:
    store = fresh(tmp_path)
    store.acquire(NAMES, run_id="run-1", holder="alice")
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    _other_process(store, pid=ended.pid)
    store.acquire(NAMES, run_id="run-2", holder="bob")


def test_a_reused_pid_is_not_the_holder(tmp_path: Path) -> None:
    store = fresh(tmp_path)
    store.acquire(NAMES, run_id="run-1", holder="alice")
    _other_process(store, mark=processes.current().mark + "9")
    store.acquire(NAMES, run_id="run-2", holder="bob")


def test_a_lease_of_another_host_is_respected_until_it_expires(tmp_path: Path) -> None:
    store = fresh(tmp_path)
    store.acquire(NAMES, run_id="run-1", holder="alice")
    _other_process(store, host="elsewhere", pid=1)
    with pytest.raises(LeaseHeldError):
        store.acquire(NAMES, run_id="run-2", holder="bob")


def test_a_holder_is_gone_only_if_that_is_certain() -> None:
    me = processes.current()
    assert not processes.is_gone(me)
    assert not processes.is_gone(replace(me, host="elsewhere", pid=2**22 - 1))
    assert not processes.is_gone(replace(me, mark=""))
    boot, namespace, start = me.mark.split("/")
    assert processes.is_gone(replace(me, mark=f"other-boot/{namespace}/{start}"))
    assert not processes.is_gone(replace(me, pid=2**22 - 1, mark=f"{boot}/pid:[1]/{start}"))
    assert not processes.is_gone(Holder(me.host, 1, f"{boot}/{namespace}/0")) or os.getuid() == 0


def test_a_zombie_is_gone() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    stat = (f"/proc/{child.pid}/stat", processes.current().mark.rpartition("/")[0])
    with open(stat[0], encoding="utf-8") as file:  # noqa: PTH123 a path of /proc
        start = file.read().rpartition(")")[2].split()[19]
    holder = Holder(processes.current().host, child.pid, f"{stat[1]}/{start}")
    assert not processes.is_gone(holder)
    child.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert processes.is_gone(holder)
    child.communicate()


def test_lease_for_releases_on_an_exception(tmp_path: Path) -> None:
    store = fresh(tmp_path)

    def work() -> None:
        with lease_for(store, NAMES, verb="drain", holder="alice"):
            raise ZeroDivisionError(len(store.leases()))

    with pytest.raises(ZeroDivisionError, match="2"):
        work()
    assert store.leases() == ()


def test_exactly_one_of_racing_processes_wins(tmp_path: Path) -> None:
    fresh(tmp_path).close()
    context = multiprocessing.get_context("spawn")
    start, results = context.Barrier(3), context.Queue()
    orders = (["r12-n01", "r12-n02"], ["r12-n02", "r12-n01"], ["r12-n02", "r12-n03"])
    url = f"sqlite:///{tmp_path / 'clusterctl.db'}"
    racers = [context.Process(target=acquire_in_race, args=(url, f"run-{i}", names, start, results)) for i, names in enumerate(orders)]
    for racer in racers:
        racer.start()
    outcome = dict(results.get(timeout=90) for _ in racers)
    for racer in racers:
        racer.join(timeout=90)
    winners = [run for run, result in outcome.items() if result == "has"]
    assert len(winners) == 1
    assert {result for run, result in outcome.items() if run not in winners} == set(winners)
