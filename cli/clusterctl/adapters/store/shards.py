"""Shards: who may work on a rack of a queued provisioning. A worker takes a shard with a new token; each end names the token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select, update

from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.engine import reading, writing
from clusterctl.adapters.store.repository import Repository, storable_text
from clusterctl.core import timestamps
from clusterctl.model.errors import StaleTokenError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.records import RunStatus
from clusterctl.model.shard import ENDED, Shard, ShardKind, ShardState, Worker

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection, Row

    from clusterctl.model.shard import Fence

_FORGOTTEN_S = 86_400
_ENDED = [state.value for state in ENDED]


class ShardRepository(Repository):
    """The shards of queued provisionings."""

    def queue_shards(self, shards: Iterable[Shard]) -> tuple[Shard, ...]:
        """Record new shards, all or none; returns them with their ids."""
        with writing(self._engine) as connection:
            now = self._clock()
            keys = [connection.execute(insert(t.shards).values(**_values(s), queued_at=now)).inserted_primary_key for s in shards]
            ids = [key[0] for key in keys if key]
            return _shards(connection, t.shards.c.id.in_(ids))

    def shards(self, order_id: str = "", *, open_only: bool = False) -> tuple[Shard, ...]:
        """The shards of an order, or of all, oldest first; with `open_only` those that have not ended."""
        wanted = [t.shards.c.order_id == order_id] if order_id else []
        wanted += [t.shards.c.state.not_in(_ENDED)] if open_only else []
        with reading(self._engine) as connection:
            return _shards(connection, *wanted)

    def shard(self, shard_id: int) -> Shard | None:
        """A shard by its id."""
        with reading(self._engine) as connection:
            return next(iter(_shards(connection, t.shards.c.id == shard_id)), None)

    def take_shard(self, shard_id: int, worker: str) -> Shard | None:
        """Give a shard to a worker under a new token; None if it has ended, or waits for others.

        What the worker before it held is released, and its run is closed: its token is old from now on, so it can write nothing.
        """
        with writing(self._engine) as connection:
            row = connection.execute(select(t.shards).where(t.shards.c.id == shard_id).with_for_update()).first()
            if row is None or row.state in {*_ENDED, ShardState.WAITING.value}:
                return None
            now = self._clock()
            self._close_runs(connection, shard_id, now)
            changes = {"state": ShardState.RUNNING.value, "token": row.token + 1, "worker": worker, "run_id": "", "started_at": now}
            connection.execute(update(t.shards).where(t.shards.c.id == shard_id).values(**changes))
            return next(iter(_shards(connection, t.shards.c.id == shard_id)))

    def end_shard(self, fence: Fence, state: ShardState, *, exit_code: int, run_id: str = "", detail: str = "") -> None:
        """Record the end of a shard, once.

        Raises:
            StaleTokenError: another worker has taken it, or it has ended.
        """
        self._move(fence, state, exit_code=exit_code, run_id=run_id, detail=storable_text(detail), ended_at=self._clock())

    def queue_again(self, fence: Fence, detail: str, *, failed: bool) -> None:
        """Return a shard that could not be finished to the queue; `failed`: by its own fault, as far as it can be seen.

        Raises:
            StaleTokenError: as `end_shard`.
        """
        self._move(fence, ShardState.QUEUED, detail=storable_text(detail), failures=t.shards.c.failures + int(failed))

    def release_waiting(self) -> int:
        """Queue the shards that wait for the racks of their order at their site, where all of these have ended; returns how many."""
        racks = t.shards.alias("racks")
        same = (racks.c.order_id == t.shards.c.order_id) & (racks.c.site == t.shards.c.site) & (racks.c.kind == ShardKind.PROVISION.value)
        unfinished = select(racks.c.id).where(same, racks.c.state.not_in(_ENDED)).exists()
        waiting = (t.shards.c.state == ShardState.WAITING.value) & ~unfinished
        with writing(self._engine) as connection:
            return connection.execute(update(t.shards).where(waiting).values(state=ShardState.QUEUED.value)).rowcount

    def cancel_shards(self, order_id: str, why: str) -> tuple[Shard, ...]:
        """End the shards of an order that no worker has taken; returns them."""
        mine = (t.shards.c.order_id == order_id) & t.shards.c.state.in_([ShardState.QUEUED.value, ShardState.WAITING.value])
        with writing(self._engine) as connection:
            ids = list(connection.execute(select(t.shards.c.id).where(mine).with_for_update()).scalars())
            end = {"state": ShardState.CANCELLED.value, "detail": storable_text(why), "ended_at": self._clock()}
            connection.execute(update(t.shards).where(t.shards.c.id.in_(ids)).values(**end))
            return _shards(connection, t.shards.c.id.in_(ids))

    def save_worker(self, worker: Worker) -> None:
        """Record that a worker runs now; forget those that were not seen for a day."""
        with writing(self._engine) as connection:
            now = self._clock()
            values = {"site": worker.site, "content": worker.content, "jobs": worker.jobs, "seen_at": now}
            if connection.execute(update(t.workers).where(t.workers.c.name == worker.name).values(**values)).rowcount == 0:
                connection.execute(insert(t.workers).values(name=worker.name, started_at=now, **values))
            connection.execute(delete(t.workers).where(t.workers.c.seen_at < timestamps.after(now, -_FORGOTTEN_S)))

    def forget_worker(self, name: str) -> None:
        """Record that a worker has ended."""
        with writing(self._engine) as connection:
            connection.execute(delete(t.workers).where(t.workers.c.name == name))

    def workers(self) -> tuple[Worker, ...]:
        """The workers that have not ended, by name; also those that were lost within a day."""
        with reading(self._engine) as connection:
            return tuple(Worker(**r._mapping) for r in connection.execute(select(t.workers).order_by(t.workers.c.name)))  # noqa: SLF001 as below

    def _move(self, fence: Fence, state: ShardState, **values: Any) -> None:
        mine = (t.shards.c.id == fence.shard_id) & (t.shards.c.token == fence.token) & (t.shards.c.state == ShardState.RUNNING.value)
        with writing(self._engine) as connection:
            if connection.execute(update(t.shards).where(mine).values(state=state.value, **values)).rowcount != 1:
                newest = connection.execute(select(t.shards.c.token).where(t.shards.c.id == fence.shard_id)).scalar()
                raise StaleTokenError(shard_id=fence.shard_id, token=fence.token, newest=newest)
            self._close_runs(connection, fence.shard_id, self._clock())

    @staticmethod
    def _close_runs(connection: Connection, shard_id: int, now: str) -> None:
        held = t.leases.c.shard_id == shard_id
        runs = connection.execute(select(t.leases.c.run_id).where(held).distinct()).scalars().all()
        end = {
            "status": RunStatus.ABANDONED.value,
            "exit_code": int(ExitCode.INTERRUPTED),
            "summary": {"abandoned": []},
            "finished_at": now,
        }
        still_open = t.runs.c.id.in_(runs) & (t.runs.c.status == RunStatus.RUNNING.value)
        connection.execute(update(t.runs).where(still_open).values(**end))
        connection.execute(delete(t.leases).where(held))


def _values(shard: Shard) -> dict[str, Any]:
    given = {
        name: getattr(shard, name)
        for name in ("order_id", "site", "rack", "content", "operator", "token", "failures", "worker", "run_id", "detail")
    }
    rest = {
        "nodes": list(shard.nodes),
        "options": dict(shard.options),
        "kind": shard.kind.value,
        "state": shard.state.value,
        "exit_code": shard.exit_code,
    }
    return {**given, **rest, "started_at": "", "ended_at": ""}


def _shards(connection: Connection, *wanted: Any) -> tuple[Shard, ...]:
    """With the run in progress: the one that holds leases for the shard."""
    query = select(t.shards).order_by(t.shards.c.id)
    rows = connection.execute(query.where(*wanted) if wanted else query).all()
    holding = {
        r.shard_id: r.run_id
        for r in connection.execute(select(t.leases.c.shard_id, t.leases.c.run_id).where(t.leases.c.shard_id.is_not(None)))
    }
    return tuple(_shard(r, holding.get(r.id, "")) for r in rows)


def _shard(row: Row[Any], run_id: str) -> Shard:
    data = dict(row._mapping)  # noqa: SLF001 SQLAlchemy's documented name
    return Shard(
        **{
            **data,
            "nodes": tuple(data["nodes"]),
            "kind": ShardKind(data["kind"]),
            "state": ShardState(data["state"]),
            "run_id": data["run_id"] or run_id,
        }
    )
