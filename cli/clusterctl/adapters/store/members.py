"""The members of the local pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select, update

from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.engine import reading, writing
from clusterctl.adapters.store.repository import Repository, storable_text
from clusterctl.model.records import PoolDoubt, PoolMember

if TYPE_CHECKING:
    from collections.abc import Callable


class MemberRepository(Repository):
    """Membership of nodes in the local pool, with the reason; and doubts about any pool."""

    def change_member(
        self, node: str, *, member: bool, reason: str, may: Callable[[PoolMember | None], None], only_known: bool = False
    ) -> bool:
        """Add or remove a registered node. `may` gets its present membership and raises if the change is not allowed. Returns whether it changed.

        `only_known`: do nothing for a node that the pool has no record of.
        """
        with writing(self._engine) as connection:
            row = connection.execute(select(t.pool_members).where(t.pool_members.c.node == node).with_for_update()).first()
            present = PoolMember(*row) if row else None
            may(present)
            if present.member == member if present else only_known:
                return False
            values = {"member": member, "reason": storable_text(reason), "changed_at": self._clock()}
            if present is None:
                connection.execute(insert(t.pool_members).values(node=node, **values))
            else:
                connection.execute(update(t.pool_members).where(t.pool_members.c.node == node).values(**values))
            return True

    def pool_members(self) -> tuple[PoolMember, ...]:
        """All nodes that the pool has a record of, by name."""
        with reading(self._engine) as connection:
            return tuple(PoolMember(*r) for r in connection.execute(select(t.pool_members).order_by(t.pool_members.c.node)))

    def save_doubt(self, node: str, why: str) -> None:
        """Record that it is unknown whether the pool has a registered node; an older doubt stays."""
        with writing(self._engine) as connection:
            if connection.execute(select(t.pool_doubts.c.node).where(t.pool_doubts.c.node == node)).first() is None:
                connection.execute(insert(t.pool_doubts).values(node=node, why=storable_text(why), since=self._clock()))

    def pool_doubts(self) -> tuple[PoolDoubt, ...]:
        """The nodes whose pool membership is unknown, by name."""
        with reading(self._engine) as connection:
            return tuple(PoolDoubt(*r) for r in connection.execute(select(t.pool_doubts).order_by(t.pool_doubts.c.node)))

    def end_doubt(self, node: str) -> None:
        """Record that a node is known to be out of the pool, or to be in it by right."""
        with writing(self._engine) as connection:
            connection.execute(delete(t.pool_doubts).where(t.pool_doubts.c.node == node))
