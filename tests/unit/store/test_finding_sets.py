"""A run without changes adds one row per node; the stored findings are returned unchanged."""

from __future__ import annotations

import gc
import threading
import weakref
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import func, select

from clusterctl.adapters.store import Store, finding_sets
from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.finding_sets import pack_ids, unpack_ids
from clusterctl.model.errors import StoreError
from clusterctl.model.gate_result import Outcome
from clusterctl_validators.finding import Finding, Severity
from support.stores import a_finding, a_node, a_run, findings, fresh

if TYPE_CHECKING:
    from pathlib import Path

NAMES = tuple(f"r12-n{i:02}" for i in range(1, 6))
NIGHTS = tuple(f"2026031{i}-020000-drift-aaaa" for i in range(4, 7))
FINDINGS = tuple(a_finding(check=f"hugepages.{i}") for i in range(40))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = fresh(tmp_path)
    store.register([a_node(name, slot=i) for i, name in enumerate(NAMES)])
    for night in NIGHTS:
        store.start_run(a_run(night, verb="drift"))
    return store


def rows(store: Store) -> dict[str, int]:
    with store._engine.connect() as connection:
        tables = (t.validations, t.finding_sets, t.finding_values)
        return {table.name: connection.execute(select(func.count()).select_from(table)).scalar_one() for table in tables}


def test_equal_findings_of_nodes_and_runs_are_stored_once(store: Store) -> None:
    for night in NIGHTS:
        store.save_findings(night, *(findings(*FINDINGS, node=name) for name in NAMES))
    assert rows(store) == {"validations": 15, "finding_sets": 1, "finding_values": 40}
    assert all(store.findings(name, night) == findings(*FINDINGS, node=name) for name in NAMES for night in NIGHTS)


def test_a_changed_finding_adds_one_finding_and_one_set(store: Store) -> None:
    store.save_findings(NIGHTS[0], *(findings(*FINDINGS, node=name) for name in NAMES))
    changed = (*FINDINGS[:7], replace(FINDINGS[7], outcome=Outcome.FAIL, found="8"), *FINDINGS[8:])
    store.save_findings(NIGHTS[1], findings(*changed, node=NAMES[0]), findings(*FINDINGS, node=NAMES[1]))
    assert rows(store) == {"validations": 7, "finding_sets": 2, "finding_values": 41}
    assert store.findings(NAMES[0], NIGHTS[0]) == findings(*FINDINGS, node=NAMES[0])
    assert store.findings(NAMES[0], NIGHTS[1]) == findings(*changed, node=NAMES[0])
    assert store.findings(NAMES[1], NIGHTS[1]) == findings(*FINDINGS, node=NAMES[1])


def test_equal_findings_are_read_as_one_object(store: Store) -> None:
    changed = (*FINDINGS[:7], replace(FINDINGS[7], outcome=Outcome.FAIL, found="8"), *FINDINGS[8:])
    store.save_findings(NIGHTS[0], *(findings(*FINDINGS, node=name) for name in NAMES[:4]), findings(*changed, node=NAMES[4]))
    read = [found for name in NAMES if (found := store.findings(name))]
    assert [r.findings for r in read] == [FINDINGS] * 4 + [changed]
    assert len({id(f) for r in read for f in r.findings}) == len(FINDINGS) + 1


def test_equal_findings_of_another_process_are_not_stored_again(store: Store) -> None:
    store.save_findings(NIGHTS[0], findings(*FINDINGS))
    with Store.open(str(store._engine.url)) as other:
        other.save_findings(NIGHTS[1], findings(*(replace(f) for f in FINDINGS)))
    store.save_findings(NIGHTS[2], findings(*(replace(f) for f in FINDINGS)))
    assert rows(store) == {"validations": 3, "finding_sets": 1, "finding_values": 40}


def test_ids_of_a_rolled_back_transaction_are_not_cached(store: Store) -> None:
    with pytest.raises(StoreError, match=r"(?i)foreign key"):
        store.save_findings(NIGHTS[0], findings(*FINDINGS), findings(*FINDINGS, node="r99-n01"))
    assert rows(store) == {"validations": 0, "finding_sets": 0, "finding_values": 0}
    store.save_findings(NIGHTS[0], findings(a_finding()))
    store.save_findings(NIGHTS[0], findings(*FINDINGS))
    assert store.findings(NAMES[0]) == findings(*FINDINGS)


def test_findings_beyond_the_cache_limit_are_stored(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding_sets, "_CACHE_LIMIT", 5)
    for night in NIGHTS:
        store.save_findings(night, findings(*FINDINGS))
    assert rows(store) == {"validations": 3, "finding_sets": 1, "finding_values": 40}
    assert store.findings(NAMES[0], NIGHTS[2]) == findings(*FINDINGS)
    store.save_findings(NIGHTS[2], findings(*FINDINGS[30:], a_finding(check="hugepages.new")))
    assert store.findings(NAMES[0], NIGHTS[2]) == findings(*FINDINGS[30:], a_finding(check="hugepages.new"))
    assert store.findings(NAMES[0], NIGHTS[1]) == findings(*FINDINGS)


def test_only_one_of_equal_finding_objects_is_referenced(store: Store) -> None:
    seen = []
    for night in NIGHTS:
        copies = [replace(f) for f in FINDINGS]
        seen += [weakref.ref(f) for f in copies]
        store.save_findings(night, findings(*copies))
    del copies
    gc.collect()
    assert sum(ref() is not None for ref in seen) == len(FINDINGS)


def test_threads_can_save_at_the_same_time(store: Store) -> None:
    def save(name: str) -> None:
        store.save_findings(NIGHTS[0], findings(*FINDINGS, a_finding(check=f"hugepages.{name}"), node=name))

    threads = [threading.Thread(target=save, args=(name,)) for name in NAMES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rows(store) == {"validations": 5, "finding_sets": 5, "finding_values": 45}


@given(st.lists(st.integers(1, 50)))
def test_unpacking_reverses_packing(ids: list[int]) -> None:
    assert list(unpack_ids(pack_ids(ids))) == ids


def test_consecutive_ids_are_one_range() -> None:
    assert pack_ids([1, 2, 3, 9, 5, 6]) == [[1, 3], [9, 9], [5, 6]]


def test_order_and_duplicates_are_kept(store: Store) -> None:
    store.save_findings(NIGHTS[0], findings(*FINDINGS))
    scattered = tuple(FINDINGS[i] for i in (*range(0, 40, 2), *range(39, 0, -2), 3, 3))
    store.save_findings(NIGHTS[1], findings(*scattered))
    assert store.findings(NAMES[0]) == findings(*scattered)


def test_findings_that_differ_in_one_field_are_stored_separately(store: Store) -> None:
    one = Finding("a.b", "a", Outcome.FAIL, Severity.MAJOR, "1", "2", "3", "4")
    others = [Finding(**{**asdict(one), name: "x"}) for name in ("check", "role", "expected", "found", "hint", "reason")]
    others += [replace(one, outcome=Outcome.PASS), replace(one, severity=Severity.MINOR), replace(one, expected="12", found="")]
    store.save_findings(NIGHTS[0], findings(one, *others))
    assert rows(store)["finding_values"] == 10
    assert store.findings(NAMES[0]) == findings(one, *others)
