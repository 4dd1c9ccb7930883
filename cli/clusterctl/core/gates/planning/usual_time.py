"""How long a burn-in usually takes, from its plan. Pure."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from clusterctl.core.gates.gate import Scope
from clusterctl.core.gates.planning.gate_plan import plan_gates
from clusterctl.core.gates.planning.step import BurnInPart
from clusterctl.core.gates.registry import gate_named, gate_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.core.gates.planning.gate_plan import GatePlan
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.level import Level

# Most seconds that the levels of the profiles may take on a rack of any size, without what is measured again.
BUDGET_S: Mapping[Level, float] = {"quick": 15 * 60.0, "standard": 45 * 60.0, "full": 8 * 3600.0}


def usual_time_s(subjects: Sequence[Subject], level: Level, gates: Sequence[str]) -> float:
    """About how long these gates take on these nodes where nothing is measured again; steps of one batch run at the same time.

    Raises:
        ConfigError: they cannot be planned.
    """
    late = gate_names(Scope.GROUP)
    of_nodes = plan_gates(subjects, level, [g for g in gates if g not in late])
    of_group = plan_gates(subjects, level, [g for g in gates if g in (*late, *gate_names(Scope.BURN_IN))], BurnInPart.GROUP)
    return sum(_usual_s(plan, subjects) for plan in (of_nodes, of_group))


def _usual_s(plan: GatePlan, subjects: Sequence[Subject]) -> float:
    profiles = {s.name: s.profile for s in subjects}
    longest: dict[int, float] = defaultdict(float)
    for name, steps in plan.steps.items():
        for step in steps:
            gate = gate_named(step.gate)
            longest[step.batch] = max(longest[step.batch], gate.usual_s(profiles[name].settings_of(gate), plan.level))
    return sum(longest.values())
