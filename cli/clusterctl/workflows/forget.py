"""Taking nodes out of the record: everything that refers to them goes in one transaction, a run row records who did it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.model.errors import ActionRefusedError
from clusterctl.model.state import State
from clusterctl.workflows.run import RunStart, recorded_run

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from clusterctl.adapters.pools.base import Pool
    from clusterctl.adapters.store.store import Store
    from clusterctl.model.records import NodeRecord


def forget(store: Store, pool: Pool, nodes: Sequence[NodeRecord], *, target: str, operator: str, state_dir: Path) -> None:
    """Delete nodes; what they were is kept in the run directory of this.

    Raises:
        ActionRefusedError: one of them is admitted or in the pool; none was deleted.
        LeaseHeldError: a run works on one of them; none was deleted.
        StoreError: nothing was deleted.
    """
    _refuse_admitted(nodes, pool.members())
    names = [n.name for n in nodes]
    with recorded_run(store, RunStart("forget", target, operator, state_dir, nodes=(), leased=names)) as run:
        run.rundir.write_json("forgotten.json", {"nodes": [_json(n) for n in nodes]})
        store.forget(names)
        run.summary = {"forgotten": names}


def _refuse_admitted(nodes: Sequence[NodeRecord], members: Collection[str]) -> None:
    for node in nodes:
        if node.state is State.ADMITTED or node.name in members:
            current = node.state.value if node.state is State.ADMITTED else f"{node.state.value}, but in the pool"
            hint = f"`clusterctl drain {node.name} --reason ...` first"
            raise ActionRefusedError(node=node.name, current=current, wanted="forgotten", hint=hint)


def _json(node: NodeRecord) -> dict[str, str]:
    return {
        "name": node.name,
        "rack": node.rack,
        "state": node.state.value,
        "reason": node.reason,
        "since": node.since,
        "last_run": node.last_run,
        "spec_digest": node.spec_digest,
    }
