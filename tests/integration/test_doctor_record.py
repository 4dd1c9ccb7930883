"""`doctor` at a record in PostgreSQL: it reads, makes no table, and knows whether racks were queued."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import inspect

from clusterctl.adapters.job_queue import queue_library
from clusterctl.adapters.store import Store
from clusterctl.adapters.store.engine import connect
from clusterctl.adapters.store.queued_racks import has_queued_racks
from clusterctl.model.errors import StoreError
from clusterctl.model.shard import Shard, ShardState, Worker
from support.postgres import binaries, server

if TYPE_CHECKING:
    from collections.abc import Iterator

TOOLS = binaries()
pytestmark = pytest.mark.skipif(TOOLS is None, reason="PostgreSQL's initdb is not installed: apt-get install postgresql")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    assert TOOLS is not None
    with server(TOOLS) as address:
        yield address


def test_an_empty_database_stays_empty_and_has_no_queue(url: str) -> None:
    assert not has_queued_racks(url)
    assert inspect(connect(url)).get_table_names() == []


def test_a_record_has_a_queue_from_the_first_order_or_worker_on(url: str) -> None:
    with Store.open(url) as store:
        assert not has_queued_racks(url)
        store.save_worker(Worker("w1", "east", "c" * 64, 1))
        assert has_queued_racks(url)
        store.forget_worker("w1")
        assert not has_queued_racks(url)
        (shard,) = store.queue_shards([Shard("order-1", "east", "r12", ("n1",), "c" * 64, "ada")])
        taken = store.take_shard(shard.id, "w1")
        assert taken is not None
        store.end_shard(taken.fence, ShardState.DONE, exit_code=0)
        assert has_queued_racks(url)


def test_a_server_that_is_not_there(url: str) -> None:
    with pytest.raises(StoreError, match="connection failed") as caught:
        has_queued_racks("postgresql+psycopg://clusterctl@127.0.0.1:1/postgres")
    assert "server of database_url" in caught.value.hint


def test_the_library_is_found_here() -> None:
    assert queue_library().startswith("3.")
