"""A database of an older form gives the same answers afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import inspect, text

from clusterctl.adapters.store import Store
from clusterctl.adapters.store.engine import connect, writing
from support.old_store import LATER, NAMES, RUN, SAID, assert_answers, counts, fill, write
from support.stores import a_finding, findings

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A database of schema 0002, with what it held: a row per finding and validation."""
    address = f"sqlite:///{tmp_path / 'clusterctl.db'}"
    fill(address)
    return address


def test_findings_of_the_old_form_are_the_same_afterwards(url: str) -> None:
    with Store.open(url) as store:
        assert_answers(store)
        assert counts(store) == (4, 2, 31)
        assert "findings" not in inspect(store._engine).get_table_names()


def test_what_is_said_again_after_the_migration_is_not_stored_again(url: str) -> None:
    with Store.open(url) as store:
        store.save_findings(LATER, findings(*SAID, node=NAMES[1]))
        assert counts(store) == (5, 2, 31)


def test_many_validations_in_slices(url: str) -> None:
    engine = connect(url)
    with writing(engine) as connection:
        for number in range(100, 260):
            write(connection, number, RUN, findings(*SAID, a_finding(check=f"hugepages.own{number % 3}"), node=NAMES[1]))
    engine.dispose()
    with Store.open(url) as store:
        assert counts(store) == (164, 5, 34)
        assert store.findings(NAMES[1]) == findings(*SAID, a_finding(check="hugepages.own1"), node=NAMES[1])


def test_a_migration_that_breaks_off_leaves_the_old_form(url: str) -> None:
    engine = connect(url)
    with writing(engine) as connection:
        connection.execute(text("CREATE TABLE finding_sets (x)"))
    with pytest.raises(Exception, match="finding_sets"):
        Store.open(url)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == "0002"
        assert connection.execute(text("SELECT count(*) FROM findings")).scalar() == 91
