"""A node's change of state by drain or release."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterctl.model.state import State


class MoveOutcome(StrEnum):
    """What became of it. ALREADY: the node was there before."""

    MOVED = "moved"
    ALREADY = "already"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Move:
    """A transition of one node. `from_state` equals `to_state` if nothing changed; then `detail` is why, and `hint` what to do."""

    node: str
    from_state: State
    to_state: State
    detail: str = ""
    outcome: MoveOutcome = MoveOutcome.MOVED
    hint: str = ""
