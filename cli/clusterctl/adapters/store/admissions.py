"""Admission records: the evidence on which a node was admitted; never deleted while the node is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import insert, select

from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.engine import reading, writing
from clusterctl.adapters.store.repository import Repository
from clusterctl.core.lifecycle import next_action
from clusterctl.model.errors import IllegalTransitionError
from clusterctl.model.records import AdmissionRecord
from clusterctl.model.state import State

if TYPE_CHECKING:
    from typing import Any

    from sqlalchemy import Row

_FIELDS = ("node", "run_id", "spec_digest", "operator", "at", "document", "digest", "signature")


class AdmissionRepository(Repository):
    """Admission records."""

    def save_admission(self, record: AdmissionRecord) -> None:
        """Record the evidence of a burned-in node; the transition to `admitted` requires it.

        Raises:
            IllegalTransitionError: the node is not `burned_in`.
        """
        with writing(self._engine) as connection:
            node = connection.execute(select(t.nodes).where(t.nodes.c.name == record.node).with_for_update()).first()
            current = State(node.state) if node else None
            if node is None or current is not State.BURNED_IN:
                hint = next_action(record.node, current) if current else "it was never registered"
                raise IllegalTransitionError(node=record.node, current=current or "unknown", wanted="admitted on a new record", hint=hint)
            values = {f: getattr(record, f) for f in _FIELDS}
            connection.execute(insert(t.admissions).values(**values, epoch=node.epoch))

    def admissions(self, node: str) -> tuple[AdmissionRecord, ...]:
        """Every admission record of a node, oldest first."""
        with reading(self._engine) as connection:
            rows = connection.execute(select(t.admissions).where(t.admissions.c.node == node).order_by(t.admissions.c.id))
            return tuple(_record(r) for r in rows)

    def admission_counts(self, record: AdmissionRecord) -> bool:
        """Whether a record is of the present epoch of its node: nothing voided it."""
        a = t.admissions.c
        query = select(a.id).where(a.node == record.node, a.digest == record.digest, a.at == record.at)
        with reading(self._engine) as connection:
            return connection.execute(query.join(t.nodes, (t.nodes.c.name == a.node) & (t.nodes.c.epoch == a.epoch))).first() is not None


def _record(row: Row[Any]) -> AdmissionRecord:
    return AdmissionRecord(**{f: getattr(row, f) for f in _FIELDS})
