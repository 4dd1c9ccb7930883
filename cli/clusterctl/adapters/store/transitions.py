"""Transitions of the lifecycle: each is checked, recorded and applied to the node in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, insert, select, update

from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.engine import reading, writing
from clusterctl.adapters.store.repository import Repository, storable_text
from clusterctl.core.lifecycle import (
    IN_PROGRESS,
    VOIDS_EVIDENCE,
    end_of_ownership,
    is_legal,
    keeps_out,
    next_action,
    owned_text,
    owner_after,
)
from clusterctl.model.errors import IllegalTransitionError
from clusterctl.model.records import TransitionRow
from clusterctl.model.repair import NO_REPAIR, Repair
from clusterctl.model.state import State
from clusterctl.model.verdict import ReasonKind

if TYPE_CHECKING:
    from typing import Any

    from sqlalchemy import Connection, Row


_OF_THE_NODE = ("reason", "reason_code", "component", "component_name", "next_action", "spec_digest", "epoch")


class TransitionRepository(Repository):
    """The transitions of nodes."""

    def transition(
        self,
        name: str,
        to: State,
        *,
        run_id: str,
        operator: str,
        reason: str = "",
        spec_digest: str | None = None,
        owner: str = "",
        include_owned: bool = False,
        cause: ReasonKind | None = None,
        reason_code: str = "",
        repair: Repair = NO_REPAIR,
    ) -> TransitionRow:
        """Change the state of a node. `run_id` is empty outside of a run; with `spec_digest` None the node keeps its digest.

        `owner`: the person who takes it out. `cause`: why a run or a policy does; None where a person decides. `reason_code`, `repair`: what was found or stated, `Reason.code` and `Reason.repair`. `include_owned`: go on although somebody owns it.

        Raises:
            IllegalTransitionError: the lifecycle forbids it, the node is unknown, or its evidence does not allow `admitted`.
            StoreError: nothing was written.
        """
        with writing(self._engine) as connection:
            node = connection.execute(select(t.nodes).where(t.nodes.c.name == name).with_for_update()).first()
            if node is None:
                raise IllegalTransitionError(node=name, current="unknown", wanted=to.value, hint="it was never registered")
            current = State(node.state)
            digest = node.spec_digest if spec_digest is None else spec_digest
            if not is_legal(current, to):
                raise IllegalTransitionError(node=name, current=current.value, wanted=to.value, hint=next_action(name, current))
            if keeps_out(node.owner, to) and not include_owned:
                held = owned_text(current, node.owner)
                raise IllegalTransitionError(node=name, current=held, wanted=to.value, hint=end_of_ownership(name))
            if to is State.ADMITTED:
                digest = _admissible_digest(connection, node, self._declared.get(name, node.declared_digest))
            row = {
                "node": name,
                "run_id": run_id,
                "operator": operator,
                "from_state": current.value,
                "to_state": to.value,
                "reason": storable_text(reason),
                "spec_digest": digest,
                "at": self._clock(),
                "epoch": node.epoch + 1 if to in VOIDS_EVIDENCE else node.epoch,
                "cause": cause.value if cause else None,
                "reason_code": reason_code,
                **{name: storable_text(text) for name, text in repair.to_json().items()},
            }
            key = connection.execute(insert(t.transitions).values(**row)).inserted_primary_key
            changes = {name: row[name] for name in _OF_THE_NODE} | {
                "state": to.value,
                "since": row["at"],
            }
            changes["owner"] = owner_after(node.owner, to, owner, operator)
            if run_id:
                changes["last_run"] = run_id
            connection.execute(update(t.nodes).where(t.nodes.c.name == name).values(**changes))
        return TransitionRow(id=key[0] if key else 0, **{**row, "from_state": current, "to_state": to, "cause": cause})

    def history(self, name: str) -> tuple[TransitionRow, ...]:
        """All transitions of a node, oldest first."""
        with reading(self._engine) as connection:
            rows = connection.execute(select(t.transitions).where(t.transitions.c.node == name).order_by(t.transitions.c.id))
            return tuple(transition_row(r) for r in rows)

    def transitions_since(self, moment: str) -> tuple[TransitionRow, ...]:
        """The transitions of all nodes at or after a moment, oldest first."""
        with reading(self._engine) as connection:
            rows = connection.execute(select(t.transitions).where(t.transitions.c.at >= moment).order_by(t.transitions.c.id))
            return tuple(transition_row(r) for r in rows)

    def nodes_in_progress(self, run_id: str) -> tuple[str, ...]:
        """The nodes whose last transition was made by this run and whose state is still one of work in progress, by name."""
        newest = select(func.max(t.transitions.c.id)).group_by(t.transitions.c.node)
        steps = select(t.transitions.c.node).where(t.transitions.c.id.in_(newest), t.transitions.c.run_id == run_id)
        in_work = t.nodes.c.state.in_([s.value for s in IN_PROGRESS])
        query = select(t.nodes.c.name).where(in_work, t.nodes.c.name.in_(steps)).order_by(t.nodes.c.name)
        with reading(self._engine) as connection:
            return tuple(connection.execute(query).scalars())

    def admitted_by(self, run_id: str) -> tuple[str, ...]:
        """The nodes that a run admitted, by name."""
        steps = select(t.transitions.c.node).where(t.transitions.c.run_id == run_id, t.transitions.c.to_state == State.ADMITTED.value)
        with reading(self._engine) as connection:
            return tuple(connection.execute(steps.distinct().order_by(t.transitions.c.node)).scalars())


def _admissible_digest(connection: Connection, node: Row[Any], declared: str) -> str:
    """The spec digest of the node's admission record, if the record is of the present epoch and the spec that is declared."""
    query = select(t.admissions.c.spec_digest, t.admissions.c.epoch).where(t.admissions.c.node == node.name)
    record = connection.execute(query.order_by(t.admissions.c.id.desc()).limit(1)).first()
    hint = f"`clusterctl provision {node.name}` records new evidence"
    refused = f"{node.state} without current proof"
    if record is None or record.epoch != node.epoch:
        hint = f"it has no admission record since it was last touched; {hint}"
        raise IllegalTransitionError(node=node.name, current=refused, wanted=State.ADMITTED.value, hint=hint)
    if record.spec_digest != declared:
        hint = f"its declared state changed since it was proven good; {hint}"
        raise IllegalTransitionError(node=node.name, current=refused, wanted=State.ADMITTED.value, hint=hint)
    return str(record.spec_digest)


def transition_row(row: Row[Any]) -> TransitionRow:
    """A row of the table as a record."""
    data = dict(row._mapping)  # noqa: SLF001 SQLAlchemy's documented name
    cause = ReasonKind(data["cause"]) if data["cause"] else None
    return TransitionRow(**{**data, "from_state": State(data["from_state"]), "to_state": State(data["to_state"]), "cause": cause})
