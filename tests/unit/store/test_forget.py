"""Forgetting a node deletes all rows that refer to it, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.store.engine import reading
from clusterctl.adapters.store.tables import metadata
from clusterctl.core.lifecycle import LEGAL
from clusterctl.model.errors import IllegalTransitionError, LeaseHeldError
from clusterctl.model.state import State
from clusterctl.workflows.forget import forget
from support.rack_after_run import NAMES, SLOW, provisioned_rack
from support.stores import a_node, fresh

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.store import Store


def rows(store: Store, name: str) -> dict[str, int]:
    """Table -> number of rows that refer to a node."""
    with reading(store._engine) as connection:
        tables = [(t.name, "node" if "node" in t.c else "name") for t in metadata.sorted_tables if {"node", "name"} & set(t.c.keys())]
        query = "SELECT count(*) FROM {} WHERE {} = :name"
        return {table: connection.execute(text(query.format(table, column)), {"name": name}).scalar_one() for table, column in tables}


def forget_nodes(store: Store, tmp_path: Path, *names: str) -> None:
    forget(store, LocalPool.create(store), store.nodes(names), target="x", operator="bob", state_dir=tmp_path)


def test_all_rows_of_the_node_are_deleted_and_those_of_others_stay(tmp_path: Path) -> None:
    store, run = provisioned_rack(tmp_path)
    LocalPool.create(store).remove(SLOW[0], "slow")
    assert {t for t, n in rows(store, SLOW[0]).items() if n} >= {"nodes", "transitions", "run_nodes", "validations", "gate_results"}
    others = {n: rows(store, n) for n in NAMES if n != SLOW[0]}
    forget_nodes(store, tmp_path, SLOW[0])
    assert set(rows(store, SLOW[0]).values()) == {0}
    assert {n: rows(store, n) for n in others} == others
    assert store.findings(NAMES[0]) is not None
    assert store.run(run.id) == run


def test_the_run_records_the_operator_and_the_deleted_node(tmp_path: Path) -> None:
    store, _ = provisioned_rack(tmp_path)
    forget_nodes(store, tmp_path, SLOW[0])
    run = store.run("last")
    assert (run.verb, run.operator, run.exit_code, run.summary) == ("forget", "bob", 0, {"forgotten": [SLOW[0]]})
    assert f'"name": "{SLOW[0]}"' in (tmp_path / "runs" / run.id / "forgotten.json").read_text()


def test_a_forgotten_node_can_be_registered_again(tmp_path: Path) -> None:
    store, _ = provisioned_rack(tmp_path)
    forget_nodes(store, tmp_path, SLOW[0])
    store.register([a_node(SLOW[0])])
    record = store.node(SLOW[0])
    assert record is not None
    assert (record.state, record.epoch, record.last_run) == (State.REGISTERED, 0, "")


def test_with_an_admitted_node_no_node_is_forgotten(tmp_path: Path) -> None:
    store, _ = provisioned_rack(tmp_path)
    before = {n: rows(store, n) for n in NAMES}
    with pytest.raises(IllegalTransitionError, match=r"r12-n01 is admitted: it cannot be forgotten"):
        forget_nodes(store, tmp_path, SLOW[0], NAMES[0])
    with pytest.raises(IllegalTransitionError):
        store.forget([SLOW[0], NAMES[0]])
    assert {n: rows(store, n) for n in NAMES} == before
    assert len(list((tmp_path / "runs").iterdir())) == 1


def test_a_member_of_the_pool_is_not_forgotten_in_any_state(tmp_path: Path) -> None:
    store = fresh(tmp_path)
    store.register([a_node()])
    LocalPool.create(store).admit("r12-n01", "test")
    with pytest.raises(IllegalTransitionError, match="registered, but in the pool"):
        forget_nodes(store, tmp_path, "r12-n01")


def test_a_node_with_a_lease_is_not_forgotten(tmp_path: Path) -> None:
    store, _ = provisioned_rack(tmp_path)
    store.acquire([SLOW[0]], run_id="run-2", holder="carol")
    with pytest.raises(LeaseHeldError, match="held by carol"):
        forget_nodes(store, tmp_path, SLOW[0])
    assert store.node(SLOW[0]) is not None


@pytest.mark.parametrize("state", sorted(set(LEGAL) - {State.ADMITTED}))
def test_only_admitted_nodes_are_refused(tmp_path: Path, state: State) -> None:
    store = fresh(tmp_path)
    store.register([a_node()])
    with store._engine.begin() as connection:
        connection.execute(text("UPDATE nodes SET state = :state"), {"state": state.value})
    forget_nodes(store, tmp_path, "r12-n01")
    assert store.nodes() == ()
