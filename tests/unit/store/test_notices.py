"""Notices of planned maintenance in the record: what is refused, what stands, and that no change is ever lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.store import Store, sqlite_reader
from clusterctl.model.errors import NoticeError, UnknownNoticeError
from clusterctl.model.notice import NoticeState, Period
from clusterctl.model.state import State
from clusterctl.workflows.forget import forget
from support.plain_yaml import load_yaml
from support.roles import ROOT
from support.stores import a_node, bring, fresh

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CASES: dict[str, Any] = load_yaml((ROOT / "tests/cases/notices/cases.yml").read_text())


def moment(hour: str) -> str:
    return f"2026-03-14T{hour}:00.000000Z"


class Record:
    """A store whose clock is set by hand."""

    def __init__(self, folder: Path) -> None:
        fresh(folder).close()
        self.now = moment("09:00")
        self.url = f"sqlite:///{folder / 'clusterctl.db'}"
        self.store = Store.open(self.url, lambda: self.now)
        self.store.register([a_node(f"n{i}", slot=i) for i in range(1, 4)])

    def do(self, step: dict[str, Any]) -> None:
        self.now = moment(step["at"])
        begins, ends = (moment(step[name]) if name in step else "" for name in ("begins", "ends"))
        if "announce" in step:
            self.store.announce("x", step["announce"], Period(begins, ends), operator="ada", reason="work")
        elif "move" in step:
            self.store.move_notice(step["move"], begins, ends, operator="bob")
        else:
            self.store.cancel_notice(step["cancel"], operator="bob", reason="off")

    def announce(self, *nodes: str, begins: str = "12:00", ends: str = "14:00") -> None:
        self.do({"at": self.now[11:16], "announce": list(nodes), "begins": begins, "ends": ends})


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Record]:
    found = Record(tmp_path)
    yield found
    found.store.close()


def test_a_change_is_later_than_the_one_before_whatever_the_clock_of_its_controller(record: Record) -> None:
    record.announce("n1")
    record.do({"at": "08:59", "move": 1, "ends": "15:00"})
    record.do({"at": "08:58", "cancel": 1})
    changes = record.store.notice_changes_since("")
    assert [c.state for c in sorted(changes, key=lambda c: c.at)] == [NoticeState.PLANNED, NoticeState.MOVED, NoticeState.CANCELLED]


@pytest.mark.parametrize("case", CASES)
def test_what_is_refused_changes_nothing(record: Record, case: str) -> None:
    for step in CASES[case]["steps"]:
        before = record.store.notice_changes_since("")
        if "refused" not in step:
            record.do(step)
            assert len(record.store.notice_changes_since("")) == len(before) + 1
            continue
        with pytest.raises((NoticeError, UnknownNoticeError)) as e:
            record.do(step)
        assert step["refused"] in str(e.value)
        assert e.value.hint
        assert record.store.notice_changes_since("") == before
    stands = [[n.id, n.state.value, n.period.begins_at, n.period.ends_at] for n in record.store.notices()]
    assert stands == [[number, state, moment(begins), moment(ends)] for number, state, begins, ends in CASES[case]["stands"]]


def test_every_change_is_kept_with_who_made_it(record: Record) -> None:
    record.announce("n2", "n1")
    record.do({"at": "09:10", "move": 1, "begins": "13:00"})
    record.do({"at": "09:20", "cancel": 1})
    changes = record.store.notice_changes_since(moment("09:00"))
    assert [(c.id, c.change, c.state.value, c.at, c.period.begins_at, c.operator, c.reason) for c in changes] == [
        (1, 1, "planned", moment("09:00"), moment("12:00"), "ada", "work"),
        (1, 2, "moved", moment("09:10"), moment("13:00"), "bob", "work"),
        (1, 3, "cancelled", moment("09:20"), moment("13:00"), "bob", "off"),
    ]
    assert {c.nodes for c in changes} == {("n1", "n2")}
    assert record.store.notice_changes_since(moment("09:11")) == changes[2:]


def test_what_is_open_is_the_same_for_store_and_reader(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    record.announce("n1", begins="10:00", ends="11:00")
    record.announce("n1", begins="12:00", ends="14:00")
    record.announce("n2")
    record.announce("n3", begins="11:30")
    record.do({"at": "09:05", "cancel": 3})
    record.do({"at": "09:06", "move": 2, "ends": "15:00"})
    for now, ids in (("09:30", [1, 4, 2]), ("10:30", [1, 4, 2]), ("11:00", [4, 2]), ("14:00", [2]), ("15:00", [])):
        record.now = moment(now)
        monkeypatch.setattr("clusterctl.adapters.clock.now", lambda: record.now)
        snapshot = sqlite_reader.read_snapshot(record.url)
        assert snapshot is not None
        assert snapshot.notices == record.store.open_notices()
        assert [n.id for n in snapshot.notices] == ids


def test_more_nodes_than_fit_into_an_event_are_refused(record: Record) -> None:
    many = [f"dc1-hall2-r{i:04d}-n01" for i in range(2000)]
    with pytest.raises(NoticeError, match="2000 nodes do not fit into one event"):
        record.announce(*many)
    record.announce(*many[:1739])


@pytest.mark.parametrize("state", [State.RETIRED, State.RMA, State.QUARANTINED])
def test_a_notice_stays_whatever_becomes_of_its_node(record: Record, state: State) -> None:
    record.announce("n1")
    before = record.store.notices()
    bring(record.store, "n1", state)
    assert record.store.notices() == before


def test_a_notice_names_a_forgotten_node_and_the_next_one_of_that_name(record: Record, tmp_path: Path) -> None:
    record.announce("n1", "n2")
    before = record.store.notices()
    forget(record.store, LocalPool.create(record.store), record.store.nodes(["n1"]), target="n1", operator="bob", state_dir=tmp_path)
    assert record.store.node("n1") is None
    assert record.store.notices() == before
    record.store.register([a_node("n1")])
    with pytest.raises(NoticeError, match="names n1 already"):
        record.announce("n1", begins="13:00")
    record.do({"at": "09:10", "cancel": 1})
    assert record.store.notices()[0].state is NoticeState.CANCELLED


def test_text_that_no_database_takes_is_kept_in_escapes(record: Record) -> None:
    found = record.store.announce("n1", ["n1"], Period(moment("12:00"), moment("13:00")), operator="ada", reason="a\x00b\udcff")
    assert found.reason == "a\\x00b\\udcff"
