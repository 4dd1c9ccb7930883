"""A node's change of state by drain or release, and what still runs on it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.model.state import State


class MoveOutcome(StrEnum):
    """What became of it. ALREADY: the node was there before."""

    MOVED = "moved"
    ALREADY = "already"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Move:
    """A transition of one node. `from_state` equals `to_state` if nothing changed; then `detail` is why, and `hint` what to do.

    `reason_code`: that of the node after it.
    """

    node: str
    from_state: State
    to_state: State
    detail: str = ""
    outcome: MoveOutcome = MoveOutcome.MOVED
    hint: str = ""
    reason_code: str = ""


@dataclass(frozen=True, slots=True)
class StillRunning:
    """What the pool reports as still running on nodes that were taken out.

    Attributes:
        jobs: node -> its jobs; a node on which nothing runs is left out.
        problem: why the pool does not report it; then nothing is known of any node.
        hint: what to do about that.
    """

    jobs: Mapping[str, str]
    problem: str = ""
    hint: str = ""
