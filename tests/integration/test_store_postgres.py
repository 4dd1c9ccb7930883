"""The store on PostgreSQL: same code and same behaviour as on SQLite."""

from __future__ import annotations

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.store import Store
from clusterctl.adapters.store.engine import connect, writing
from clusterctl.adapters.store.tables import metadata
from clusterctl.core.node_curves import curve_key
from clusterctl.model.errors import IllegalTransitionError, LeaseHeldError, NoticeError, StoreError
from clusterctl.model.findings import NodeStatus
from clusterctl.model.gate_result import Outcome
from clusterctl.model.notice import NoticeState, Period
from clusterctl.model.part import Part
from clusterctl.model.recorded_hardware import RecordedHardware
from clusterctl.model.state import State
from clusterctl_validators.finding import Finding, Severity
from support.lease_race import acquire_in_race
from support.nights import NIGHT_BAD, NIGHT_NAMES, night_run, upper_result, write_nights
from support.old_store import LATER, OLD_FINDINGS, assert_same_findings, create_old_database, row_counts
from support.postgres import binaries, server
from support.stores import a_node, a_result, a_run, bring, burn_in, findings, fresh

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOOLS = binaries()
pytestmark = pytest.mark.skipif(TOOLS is None, reason="PostgreSQL's initdb is not installed: apt-get install postgresql")
NAME = "r12-n01"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    assert TOOLS is not None
    with server(TOOLS) as address:
        yield address


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store.open(url) as store:
        with writing(store._engine) as connection:
            for table in reversed(metadata.sorted_tables):
                connection.execute(text(f"DELETE FROM {table.name}"))  # noqa: S608 names of our own tables
        store.register([a_node()])
        store.start_run(a_run(), [NAME])
        yield store


def test_lifecycle_transitions_and_pool_membership(store: Store) -> None:
    burn_in(store, a_run())
    bring(store, NAME, State.ADMITTED)
    LocalPool(store).admit(NAME, "run")
    assert LocalPool(store).members() == {NAME}
    bring(store, NAME, State.QUARANTINED, State.DRAINED)
    with pytest.raises(IllegalTransitionError):
        bring(store, NAME, State.ADMITTED)
    assert [s.id for s in store.history(NAME)] == sorted(s.id for s in store.history(NAME))
    assert len(store.admissions(NAME)) == 1


def test_stored_evidence_is_returned(store: Store) -> None:
    odd = Finding("x.y", "x", Outcome.FAIL, Severity.MAJOR, found="nul \x00 and \udc80")
    store.save_findings(a_run().id, findings(odd))
    store.save_gate_results(a_run().id, [a_result()])
    stored = store.findings(NAME, current=True)
    assert stored is not None
    assert stored.findings[0].found == "nul \\x00 and \\udc80"
    assert store.gate_results(NAME, current=True) == (a_result(),)
    assert store.run("last").id == a_run().id
    assert store.unfinished_runs() == ()
    assert store.nodes_in_progress(a_run().id) == ()


def test_measurements_over_time_are_those_of_sqlite(store: Store, tmp_path: Path) -> None:
    with fresh(tmp_path) as other:
        found, beside = [], []
        for one in (store, other):
            run = write_nights(one, range(1, 5), bad_in=3)
            results = [upper_result(Outcome.FAIL if n == NIGHT_BAD else Outcome.PASS, n, 3.0 + i) for i, n in enumerate(NIGHT_NAMES)]
            one.save_gate_results(run.id, results)
            wanted = {curve_key(r) for r in one.gate_results(NIGHT_BAD, run.id) if r.outcome is Outcome.FAIL}
            found.append(one.recorded_curves(wanted, run.started_at))
            node = one.node(NIGHT_BAD)
            assert node
            beside.append(one.fleet_of_runs({key.figure for key in wanted}, node.profile, [night_run(i).id for i in range(1, 5)]))
    assert found[0] == found[1]
    assert beside[0] == beside[1] == found[0].fleet
    assert len(found[0].past) == 4 + 1
    assert {key.figure.metric: len(days) for key, days in found[0].fleet.items()} == {"bandwidth_average": 4, "latency": 1}


def test_a_second_operator_is_refused_with_the_holder(store: Store) -> None:
    store.acquire([NAME], run_id="run-1", holder="alice")
    with pytest.raises(LeaseHeldError, match="held by alice"):
        store.acquire([NAME], run_id="run-2", holder="bob")
    assert store.renew("run-1") == 1
    assert store.release("run-1") == 1


def test_exactly_one_of_several_racing_processes_gets_the_leases(store: Store, url: str) -> None:
    context = multiprocessing.get_context("spawn")
    start, results = context.Barrier(3), context.Queue()
    orders = (["r12-n01", "r12-n02"], ["r12-n02", "r12-n01"], ["r12-n02", "r12-n03"])
    racers = [context.Process(target=acquire_in_race, args=(url, f"run-{i}", names, start, results)) for i, names in enumerate(orders)]
    for racer in racers:
        racer.start()
    outcome = dict(results.get(timeout=90) for _ in racers)
    for racer in racers:
        racer.join(timeout=90)
    assert list(outcome.values()).count("has") == 1


def test_a_migrated_database_returns_the_same_findings(url: str) -> None:
    engine = connect(url)
    with writing(engine) as connection:
        connection.execute(text("CREATE SCHEMA old"))
    engine.dispose()
    old = f"{url}?options=-csearch_path%3Dold"
    create_old_database(old)
    with Store.open(old) as store:
        with writing(store._engine) as connection:
            connection.execute(text("SELECT setval(pg_get_serial_sequence('validations', 'id'), 100)"))
        assert_same_findings(store)
        store.save_findings(LATER, findings(*OLD_FINDINGS, node=NAME))
        assert row_counts(store) == (5, 2, 31)


def test_a_server_that_is_down_is_reported_without_the_password() -> None:
    with pytest.raises(StoreError) as caught:
        Store.open("postgresql+psycopg://alice:hunter2@127.0.0.1:1/none")
    assert "hunter2" not in str(caught.value)
    assert "check that the server of database_url runs" in caught.value.hint


def test_a_node_without_an_answer_is_known_until_it_answers(store: Store) -> None:
    store.register([a_node("r12-n02")])
    run = store.run("last").id
    store.save_findings(run, findings(status=NodeStatus.UNREACHABLE, detail="no route"), findings(node="r12-n02"))
    assert [(x.node, x.run_id, x.status, x.detail) for x in store.unanswered()] == [(NAME, run, "unreachable", "no route")]
    store.save_findings(run, findings())
    assert store.unanswered() == ()


def test_a_node_is_forgotten_with_all_that_refers_to_it(store: Store) -> None:
    burn_in(store, store.run("last"), NAME)
    LocalPool.create(store).remove(NAME, "gone")
    store.register([a_node("r12-n02")])
    store.forget([NAME])
    assert [n.name for n in store.nodes()] == ["r12-n02"]
    assert (store.history(NAME), store.findings(NAME), store.admissions(NAME)) == ((), None, ())
    store.register([a_node()])
    assert store.node(NAME) is not None


def test_the_hardware_of_nodes_is_counted_in_the_database(store: Store) -> None:
    gpus = [Part("gpu", f"0000:0{i}:00.0", f"GPU {i}", "H100", f"G{i}") for i in range(8)]
    store.save_parts(a_run().id, NAME, [*gpus, Part("system", "", "system", "XE9680", "S1")])
    expected = {NAME: RecordedHardware("S1", "XE9680", "H100", 8)}
    assert store.hardware() == store.hardware([NAME, "no"]) == expected
    assert store.hardware([]) == {}


def test_of_two_notices_of_one_node_at_one_time_one_is_recorded(url: str, store: Store) -> None:
    names = ["r12-n01", "r12-n02"]
    store.register([a_node("r12-n02")])
    period = Period("2999-01-01T00:00:00.000000Z", "2999-01-02T00:00:00.000000Z")
    for round_number in range(5):
        start = threading.Barrier(6)

        def announce(number: int, start: threading.Barrier = start) -> bool:
            with Store.open(url) as own:
                start.wait(timeout=60)
                try:
                    own.announce("x", [names[number % 2], names[0]], period, operator=f"op{number}", reason="work")
                except NoticeError:
                    return False
                return True

        with ThreadPoolExecutor(6) as pool:
            assert sum(pool.map(announce, range(6))) == 1
        (notice,) = store.open_notices()
        store.cancel_notice(notice.id, operator="ada", reason="next round")
        assert len(store.notices()) == round_number + 1


def test_a_notice_is_moved_and_read_back(store: Store) -> None:
    notice = store.announce(
        "x", [NAME], Period("2999-01-01T00:00:00.000000Z", "2999-01-02T00:00:00.000000Z"), operator="ada", reason="\x00"
    )
    moved = store.move_notice(notice.id, None, "2999-01-03T00:00:00.000000Z", operator="bob")
    assert (moved.nodes, moved.reason, moved.state) == ((NAME,), "\\x00", NoticeState.MOVED)
    assert store.notices() == store.open_notices() == (moved,)
    assert store.notice_changes_since("") == (notice, moved)
