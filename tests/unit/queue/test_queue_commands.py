"""The command lines of the queue that are refused, and what is shown of it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from clusterctl import main
from clusterctl.adapters.job_queue import JobQueue
from clusterctl.adapters.store import Store
from clusterctl.model.errors import QueueError
from clusterctl.model.provision import Note
from clusterctl.model.records import RunRow
from clusterctl.model.shard import RunsOverview, Shard, ShardState, Worker
from clusterctl.terminal.shards import queue_question, show_progress, show_queued, show_runs

if TYPE_CHECKING:
    from pathlib import Path

SHARDS = (
    Shard(
        "order-1",
        "east",
        "r12",
        ("r12-n01", "r12-n02"),
        "c" * 64,
        "ada",
        id=1,
        state=ShardState.RUNNING,
        token=1,
        worker="w1",
        run_id="run-1",
    ),
    Shard(
        "order-1",
        "",
        "",
        ("n9",),
        "d" * 64,
        "ada",
        id=2,
        state=ShardState.FAILED,
        exit_code=3,
        detail="the breaker\x1b[31m",
        ended_at="2026-03-14T09:30:12.000000Z",
    ),
    Shard("order-1", "west", "r13", ("r13-n01",), "c" * 64, "ada", id=3),
)
RUN = RunRow("run-1", "provision", "r12", "ada", "2026-03-14T09:30:12.000000Z", (), {}, "")
OVERVIEW = RunsOverview(
    (RUN,), {"run-1": {"": 1, "apply": 2}}, SHARDS, (Worker("w1", "east", "c" * 64, 4, seen_at=RUN.started_at),), RUN.started_at
)


@pytest.fixture(autouse=True)
def _site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hosts.yml").write_text("rack_12: {vars: {rack: r12}, hosts: {n1: {}}}\n")
    (tmp_path / "clusterctl.yml").write_text("inventory: [hosts.yml]\nstate_dir: state\n")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--check"], "--check"),
        (["--resume", "r"], "--resume"),
        (["-i", "hosts.yml"], "--inventory"),
        (["-e", "password=secret"], "--extra-vars"),
        (["-v"], "--verbose"),
        (["--", "--forks=3"], "arguments of ansible-playbook"),
    ],
)
def test_what_a_worker_cannot_follow_is_refused(words: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.call(["provision", "n1", "--queue", "--yes", *words]) == 2
    assert named in capsys.readouterr().err


@pytest.mark.parametrize("words", [["provision", "n1", "--queue", "--yes"], ["worker"]])
def test_a_record_in_sqlite_has_no_queue(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.call(words) == 2
    err = capsys.readouterr().err
    assert "PostgreSQL" in err
    assert "docs/how-to/queue.md" in err


def test_nothing_is_shown_without_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.call(["status", "--runs"]) == 0
    assert "no run is in progress, and nothing is queued" in capsys.readouterr().err
    assert main.call(["status", "--runs", "--ask-pool"]) == 2


def test_runs_shards_and_workers_are_tables(capsys: pytest.CaptureFixture[str]) -> None:
    show_runs(OVERVIEW, "table")
    shown = capsys.readouterr()
    assert "1 waiting, 2 apply" in shown.out
    assert [line.split()[0] for line in shown.out.splitlines()] == [
        "RUN",
        "run-1",
        "ORDER",
        "order-1",
        "order-1",
        "order-1",
        "WORKER",
        "w1",
    ]
    assert "\x1b" not in shown.out
    assert shown.err == "no worker takes racks of site west with content cccccccccccc: `clusterctl worker` starts one\n"


def test_a_worker_that_was_silent_for_a_minute_takes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    show_runs(replace(OVERVIEW, now="2026-03-14T09:31:13.000000Z"), "table")
    assert "no worker takes racks of site east" in capsys.readouterr().err


def test_what_was_queued_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    show_queued(SHARDS[2:], "table")
    shown = capsys.readouterr()
    assert shown.out.split() == ["ORDER", "SHARD", "SITE", "RACK", "NODES", "STATE", "order-1", "3", "west", "r13", "1", "queued"]
    assert "status --runs" in shown.err


@pytest.mark.parametrize(
    ("number", "expected"), [(3, "4 nodes in r12, no rack, r13. Queue them?"), (1, "2 nodes in r12. Queue them?")], ids=["three", "one"]
)
def test_the_question_names_the_racks(number: int, expected: str) -> None:
    assert queue_question(SHARDS[:number]) == expected
    assert queue_question(SHARDS[2:]) == "1 node in r13. Queue it?"


def test_progress_is_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    for one in (*SHARDS[:2], OVERVIEW.workers[0], Note("again")):
        show_progress(one)
    assert capsys.readouterr().err.splitlines() == [
        "shard 1, rack r12, 2 nodes: running",
        "shard 2, rack -, 1 node: failed, exit code 3: the breaker\\x1b[31m",
        "worker w1 takes racks of site east, 4 at a time; content cccccccccccc",
        "again",
    ]


def queued(folder: Path) -> Store:
    store = Store.open(f"sqlite:///{folder / 'state' / 'clusterctl.db'}")
    store.queue_shards([Shard(order, "", rack, (f"{rack}-n1",), "c", "ada") for order, rack in (("o1", "r1"), ("o1", "r2"), ("o2", "r3"))])
    return store


def test_what_no_worker_has_taken_can_be_cancelled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = queued(tmp_path)
    store.take_shard(1, "w1")
    assert main.call(["provision", "--cancel", "o1"]) == 0
    assert "r2" in capsys.readouterr().out
    assert [s.state for s in store.shards()] == [ShardState.RUNNING, ShardState.CANCELLED, ShardState.QUEUED]
    assert store.take_shard(2, "w1") is None
    assert main.call(["provision", "--cancel", "o1"]) == 2
    assert "goes on to its end" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["n1"], ["--queue"]])
def test_an_order_is_cancelled_as_a_whole(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.call(["provision", *words, "--cancel", "o1"]) == 2
    assert "--cancel takes an order only" in capsys.readouterr().err


def test_a_server_that_does_not_answer_is_reported_at_once_with_its_reason() -> None:
    pytest.importorskip("procrastinate")

    async def opened() -> None:
        async with JobQueue.open("postgresql+psycopg://u@127.0.0.1:1/x"):
            pass

    began = time.monotonic()
    with pytest.raises(QueueError, match=r"connection to server at .* port 1 failed: Connection refused"):
        asyncio.run(opened())
    assert time.monotonic() - began < 5
