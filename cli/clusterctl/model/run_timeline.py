"""What took the time of a run: the phases of each node, and the gates inside its burn-in. Seconds count from the start of the run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class TimesFrom(StrEnum):
    """Where the times of a run are from."""

    PHASES = "phases"
    STEPS = "steps"
    ANSWERS = "answers"
    GATES = "gates"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class PhasePart:
    """A phase as a run carried it out on some of its nodes, from its run directory.

    Attributes:
        spans: node -> seconds after `began_at` at which something was first and last heard of it; a node that is not there was not heard of.
        is_over: it came to its end; False where the run was cut off in it, or is still in it.
    """

    phase: str
    began_at: str
    nodes: tuple[str, ...]
    spans: Mapping[str, tuple[float, float]]
    is_over: bool


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A phase or gate on a node. `ended_s`: None where its end is not recorded."""

    what: str
    began_s: float
    ended_s: float | None


@dataclass(frozen=True, slots=True)
class NodeTimes:
    """A node in a run; without phases it never began. `gates` are by the clock of the node."""

    node: str
    phases: tuple[TimeSpan, ...]
    gates: tuple[TimeSpan, ...] = ()


@dataclass(frozen=True, slots=True)
class RunTimeline:
    """The nodes of a run over its time.

    Attributes:
        is_over: the run has ended.
        out_of_order: how many spans end before they begin, begin before the run, or have no readable time; none of them is in it.
        other_clocks: nodes whose gates are outside of the run by their clock; these are not in it.
        has_end: False where the run was killed: nothing recorded when.
        damaged: why recorded times cannot be read; empty where they can.
    """

    length_s: float
    nodes: tuple[NodeTimes, ...]
    came_from: TimesFrom
    is_over: bool
    out_of_order: int = 0
    other_clocks: tuple[str, ...] = ()
    damaged: str = ""
    has_end: bool = True
