"""Pools whose scheduler can show what was found on a node that is out: gate, check or role, and part."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from clusterctl.model.errors import PoolError, PoolUnreachableError
from clusterctl.model.verdict import ReasonKind

if TYPE_CHECKING:
    from clusterctl.adapters.pools.base import Pool
    from clusterctl.model.verdict import Reason


@runtime_checkable
class Marking(Protocol):
    """What a pool offers in addition if its scheduler can show why a node is out. `Pool.remove` came before anything was found."""

    def mark(self, node: str, found: Reason, /) -> bool:
        """Show what was found on a node that we took out. Returns whether that changed anything; what others wrote stays as it is.

        Raises:
            PoolError: the scheduler refused, or does not answer.
        """
        ...


@dataclass(slots=True)
class Marker:
    """Marks the nodes of one operation. Nodes stay out with or without a mark, so a mark that fails ends nothing."""

    pool: Pool
    _unreachable: bool = field(default=False, init=False)

    def mark(self, node: str, found: Reason) -> str:
        """Mark a node where the pool can. Returns why it is not marked, or an empty string; a scheduler that did not answer once is not queried again."""
        if not isinstance(self.pool, Marking) or self._unreachable:
            return ""
        try:
            self.pool.mark(node, found)
        except PoolError as e:
            self._unreachable = isinstance(e, PoolUnreachableError)
            return f"{node} is out of the pool, and its scheduler does not show what was found: {e}"
        return ""


def mark_text(node: str, found: Reason) -> str:
    """`gate.rdma_pair r12-n04:mlx5_3`; without a part, `role.ofed r12-n04`. What a person writes follows, because no finding has it: `person r12-n04 drained by ada: fan`."""
    text = f" {found.text}" if found.kind is ReasonKind.PERSON else ""
    return f"{found.code} {node}" + (f":{found.device}" if found.device else "") + text
