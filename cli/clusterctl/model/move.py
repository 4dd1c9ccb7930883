"""A node's change of state by drain or release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterctl.model.state import State


@dataclass(frozen=True, slots=True)
class Move:
    """A transition of one node. `from_state` equals `to_state` if nothing changed."""

    node: str
    from_state: State
    to_state: State
    detail: str = ""
