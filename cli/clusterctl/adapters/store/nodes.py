"""Nodes: registration from the inventory, and their present state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select, update

from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.engine import reading, writing
from clusterctl.adapters.store.repository import Repository, slices
from clusterctl.core.lifecycle import next_action
from clusterctl.model.errors import ActionRefusedError
from clusterctl.model.records import NodeRecord
from clusterctl.model.repair import NO_REPAIR
from clusterctl.model.state import State

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clusterctl.model.node import Node

_COLUMNS = (
    t.nodes.c.name,
    t.nodes.c.rack,
    t.nodes.c.slot,
    t.nodes.c.groups,
    t.nodes.c.state,
    t.nodes.c.reason,
    t.nodes.c.spec_digest,
    t.nodes.c.last_run,
    t.nodes.c.since,
    t.nodes.c.profile,
    t.nodes.c.declared_digest,
    t.nodes.c.epoch,
    t.nodes.c.owner,
    t.nodes.c.leaf,
    t.nodes.c.spine,
    t.nodes.c.nvlink_domain,
    t.nodes.c.reason_code,
    t.nodes.c.component,
    t.nodes.c.component_name,
    t.nodes.c.next_action,
)
_FROM_INVENTORY = ("rack", "slot", "groups", "profile", "declared_digest", "leaf", "spine", "nvlink_domain")
_REFERRING = tuple(table for table in t.metadata.sorted_tables if any(key.column is t.nodes.c.name for key in table.foreign_keys))


class NodeRepository(Repository):
    """Node records."""

    def register_new(self, nodes: Sequence[Node]) -> None:
        """Record the nodes that are unknown, and nothing of those that are known: for runs that decide nothing, or do not hold the nodes yet."""
        self._register(nodes, only_new=True)

    def register(self, nodes: Sequence[Node]) -> None:
        """Record new nodes as `registered`; update place, groups, profile and declared digest of known ones. Never changes a state.

        For runs that hold the nodes: others read what is updated here.
        """
        self._register(nodes, only_new=False)

    def _register(self, nodes: Sequence[Node], *, only_new: bool) -> None:
        self._declared.update((n.name, n.spec.digest) for n in nodes)
        now = self._clock()
        with writing(self._engine) as connection:
            known: dict[str, dict[str, Any]] = {}
            for part in slices(n.name for n in nodes):
                rows = connection.execute(select(*_COLUMNS).where(t.nodes.c.name.in_(part)))
                known |= {r.name: {column: getattr(r, column) for column in _FROM_INVENTORY} for r in rows}
            fresh = [
                {
                    "name": n.name,
                    "state": State.REGISTERED.value,
                    "reason": "",
                    "reason_code": "",
                    **NO_REPAIR.to_json(),
                    "spec_digest": "",
                    "last_run": "",
                    "since": now,
                    "epoch": 0,
                    "owner": "",
                    **_facts(n),
                }
                for n in nodes
                if n.name not in known
            ]
            if fresh:
                connection.execute(insert(t.nodes), fresh)
            for node in () if only_new else nodes:
                facts = _facts(node)
                if node.name in known and facts != known[node.name]:
                    connection.execute(update(t.nodes).where(t.nodes.c.name == node.name).values(**facts))

    def forget(self, names: Iterable[str]) -> None:
        """Delete nodes and all rows that refer to them, in one transaction. Runs and deduplicated findings stay.

        Raises:
            ActionRefusedError: one of them is admitted.
        """
        with writing(self._engine) as connection:
            for part in slices(names):
                states = select(t.nodes.c.name, t.nodes.c.state).where(t.nodes.c.name.in_(part)).order_by(t.nodes.c.name)
                for row in connection.execute(states.with_for_update()):
                    if State(row.state) is State.ADMITTED:
                        hint = next_action(row.name, State.ADMITTED)
                        raise ActionRefusedError(node=row.name, current=row.state, wanted="forgotten", hint=hint)
                for table in _REFERRING:
                    connection.execute(delete(table).where(table.c.node.in_(part)))
                connection.execute(delete(t.nodes).where(t.nodes.c.name.in_(part)))

    def node(self, name: str) -> NodeRecord | None:
        """The record of a node; None if it was never registered."""
        with reading(self._engine) as connection:
            row = connection.execute(select(*_COLUMNS).where(t.nodes.c.name == name)).first()
        return _record(row) if row else None

    def nodes(self, names: Iterable[str] | None = None) -> tuple[NodeRecord, ...]:
        """All nodes, or those of `names` that are recorded, by rack, slot and name."""
        order = (t.nodes.c.rack, t.nodes.c.slot, t.nodes.c.name)
        with reading(self._engine) as connection:
            if names is None:
                return tuple(_record(r) for r in connection.execute(select(*_COLUMNS).order_by(*order)))
            found = [
                _record(row) for part in slices(names) for row in connection.execute(select(*_COLUMNS).where(t.nodes.c.name.in_(part)))
            ]
        return tuple(sorted(found, key=lambda n: (n.rack, n.slot, n.name)))


def _facts(node: Node) -> dict[str, Any]:
    return {
        "rack": node.place.rack,
        "slot": node.place.slot,
        "groups": list(node.groups),
        "profile": node.profile,
        "declared_digest": node.spec.digest,
        "leaf": node.place.leaf,
        "spine": node.place.spine,
        "nvlink_domain": node.place.nvlink_domain,
    }


def _record(row: Sequence[Any]) -> NodeRecord:
    name, rack, slot, groups, state, *rest = row
    return NodeRecord(name, rack, slot, tuple(groups), State(state), *rest)
