"""A migrated database returns the same data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import insert, inspect, text

from clusterctl.adapters.store import Store
from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.engine import connect, writing
from clusterctl.model.gate_result import Outcome
from support.old_store import (
    LATER,
    NAMES,
    OLD_FINDINGS,
    RUN,
    assert_same_findings,
    create_old_database,
    row_counts,
    write_gate_result,
    write_validation,
)
from support.stores import a_finding, a_result, findings

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A database with schema 0002, which has one row per finding and validation."""
    address = f"sqlite:///{tmp_path / 'clusterctl.db'}"
    create_old_database(address)
    return address


def test_findings_are_the_same_after_the_migration(url: str) -> None:
    with Store.open(url) as store:
        assert_same_findings(store)
        assert row_counts(store) == (4, 2, 31)
        assert "findings" not in inspect(store._engine).get_table_names()


def test_old_gate_results_keep_their_texts_and_get_the_limit_from_them(url: str) -> None:
    expected = {">= 180 Gb/s": (180.0, "Gb/s"), "<= 900.5 GB/s": (900.5, "GB/s"), "Pass": (None, ""), "": (None, "")}
    old = [replace(a_result(Outcome.FAIL, node=NAMES[0], device=f"mlx5_{i}"), expected=text) for i, text in enumerate(expected)]
    engine = connect(url)
    with writing(engine) as connection:
        for result in old:
            write_gate_result(connection, RUN, result)
    engine.dispose()
    with Store.open(url) as store:
        found = store.gate_results(NAMES[0], RUN)
    assert [(r.limit, r.unit) for r in found] == list(expected.values())
    untyped: dict[str, Any] = {"reason": None, "value": None, "limit": None, "unit": ""}
    assert [replace(r, **untyped) for r in found] == [replace(r, **untyped) for r in old]


def test_equal_findings_after_the_migration_are_not_stored_again(url: str) -> None:
    with Store.open(url) as store:
        store.save_findings(LATER, findings(*OLD_FINDINGS, node=NAMES[1]))
        assert row_counts(store) == (5, 2, 31)


def test_many_validations_are_migrated_in_slices(url: str) -> None:
    engine = connect(url)
    with writing(engine) as connection:
        for number in range(100, 260):
            write_validation(connection, number, RUN, findings(*OLD_FINDINGS, a_finding(check=f"hugepages.own{number % 3}"), node=NAMES[1]))
    engine.dispose()
    with Store.open(url) as store:
        assert row_counts(store) == (164, 5, 34)
        assert store.findings(NAMES[1]) == findings(*OLD_FINDINGS, a_finding(check="hugepages.own1"), node=NAMES[1])


def test_a_failed_migration_leaves_the_old_schema(url: str) -> None:
    engine = connect(url)
    with writing(engine) as connection:
        connection.execute(text("CREATE TABLE finding_sets (x)"))
    with pytest.raises(Exception, match="finding_sets"):
        Store.open(url)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == "0002"
        assert connection.execute(text("SELECT count(*) FROM findings")).scalar() == 91


def test_whoever_took_a_node_out_without_a_run_owns_it_after_the_migration(url: str) -> None:
    engine = connect(url)
    by_person, by_run = NAMES[:2]
    with writing(engine) as connection:
        connection.execute(text("UPDATE nodes SET state = 'quarantined'"))
        for node, run_id, to in ((by_person, RUN, "admitted"), (by_person, "", "quarantined"), (by_run, RUN, "quarantined")):
            row = {"node": node, "run_id": run_id, "operator": "bob", "from_state": "drained", "to_state": to, "reason": "", "epoch": 0}
            connection.execute(insert(t.transitions).values(**row, spec_digest="", at=""))
    engine.dispose()
    with Store.open(url) as store:
        assert {r.name: r.owner for r in store.nodes([by_person, by_run])} == {by_person: "bob", by_run: ""}
