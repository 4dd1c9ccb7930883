"""What the parts of a rack read in earlier nights, when nothing was wrong with them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from clusterctl.core.gates.gate import Scope
from clusterctl.core.gates.judging.own_history import usual_values
from clusterctl.core.gates.registry import gate_names
from clusterctl.model.own_history import LAST_RUNS, PastResult
from faults.burnin import burn_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.model.level import Level
    from clusterctl.model.own_history import HistoryKey
    from faults.world import Rack


def usual_of(rack: Rack, level: Level) -> Mapping[HistoryKey, float]:
    """Of five burn-ins of the same parts, each with noise of its own and without the changes of the rack."""
    return _usual(replace(rack, changes=()), level)


@cache
def _usual(healthy: Rack, level: Level) -> Mapping[HistoryKey, float]:
    nights = [replace(healthy, measured=f"night {number}") for number in range(LAST_RUNS)]
    # The value of a group is of none of its nodes.
    gates = (*gate_names(Scope.NODE), *gate_names(Scope.PAIR))
    past = (PastResult(r, night.measured, night.measured) for night in nights for r in burn_in(night, level, gates) if r.value is not None)
    return usual_values(past)
