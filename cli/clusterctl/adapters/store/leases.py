"""Leases: only one run changes a node at a time. A run gets all of its nodes or none; the lease of a dead process is taken over, that of a living one never."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.engine import fence_of, reading, writing
from clusterctl.adapters.store.repository import Repository, slices
from clusterctl.core import timestamps
from clusterctl.model.errors import LeaseHeldError, MachineHeldError
from clusterctl.model.holder import Holder
from clusterctl.model.records import Lease

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection, Row

from clusterctl.adapters import processes

DEFAULT_TTL_S = 900
# of a worker of the queue, which renews three times in it: so soon it notices that another worker has its shard
SHARD_TTL_S = 60


class LeaseRepository(Repository):
    """Leases of runs on nodes."""

    def acquire(self, names: Iterable[str], *, run_id: str, holder: str, ttl_s: float = DEFAULT_TTL_S) -> None:
        """Acquire all named nodes and machines (`Connection.machine`) for a run, or none; acquiring one again renews its lease.

        Raises:
            LeaseHeldError: another run holds one of the nodes; names the first of them.
            MachineHeldError: another run holds the machine of one of them under another name.
        """
        nodes = sorted(set(names))
        while True:
            try:
                with writing(self._engine) as connection:
                    return self._acquire(connection, nodes, run_id, holder, ttl_s)
            except _RacedError:  # PostgreSQL: two runs read the same free node; the slower one now finds the lease of the other
                continue

    def _acquire(self, connection: Connection, nodes: list[str], run_id: str, holder: str, ttl_s: float) -> None:
        now = self._clock()
        seen = [
            lease_of(row)
            for part in slices(nodes)
            for row in connection.execute(select(t.leases).where(t.leases.c.node.in_(part)).order_by(t.leases.c.node).with_for_update())
        ]
        for lease in sorted(seen, key=lambda x: _is_machine(x.node)):
            if lease.run_id != run_id and processes.is_held(lease, now):
                raise (MachineHeldError if _is_machine(lease.node) else LeaseHeldError)(
                    node=lease.node,
                    holder=lease.holder,
                    run_id=lease.run_id,
                    since=timestamps.short(lease.acquired_at),
                    expires=timestamps.short(lease.expires_at),
                )
        process = processes.current()
        rest = {
            "host": process.host,
            "pid": process.pid,
            "mark": process.mark,
            "acquired_at": now,
            "expires_at": timestamps.after(now, ttl_s),
            "shard_id": fence.shard_id if (fence := fence_of(connection)) else None,
        }
        # Only the leases that were read are deleted: a newer one belongs to another run, and makes the insert fail.
        for part in slices(lease.node for lease in seen):
            connection.execute(delete(t.leases).where(t.leases.c.node.in_(part)))
        for part in slices(nodes):
            try:
                connection.execute(insert(t.leases), [{"node": n, "run_id": run_id, "holder": holder, **rest} for n in part])
            except IntegrityError as e:
                raise _RacedError from e

    def renew(self, run_id: str, ttl_s: float = DEFAULT_TTL_S) -> int:
        """Extend all leases of a run; returns how many it still holds."""
        until = timestamps.after(self._clock(), ttl_s)
        with writing(self._engine) as connection:
            return connection.execute(update(t.leases).where(t.leases.c.run_id == run_id).values(expires_at=until)).rowcount

    def release(self, run_id: str) -> int:
        """Release all leases of a run; returns how many there were."""
        with writing(self._engine) as connection:
            return connection.execute(delete(t.leases).where(t.leases.c.run_id == run_id)).rowcount

    def leases(self) -> tuple[Lease, ...]:
        """All recorded leases, also expired ones, by node."""
        with reading(self._engine) as connection:
            return tuple(lease_of(r) for r in connection.execute(select(t.leases).order_by(t.leases.c.node)))


def _is_machine(word: str) -> bool:
    """Names of nodes have no spaces."""
    return " " in word


class _RacedError(Exception):
    """Another run acquired a node between the read and the insert."""


def lease_of(row: Row[Any]) -> Lease:
    """A row of the table of leases as a record."""
    process = Holder(row.host, row.pid, row.mark)
    return Lease(row.node, row.run_id, row.holder, process, row.acquired_at, row.expires_at)
