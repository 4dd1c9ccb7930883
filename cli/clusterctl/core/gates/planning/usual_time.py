"""How long a burn-in usually takes, from its plan. Pure."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from clusterctl.core.gates.gate import Scope
from clusterctl.core.gates.gate_class import raised_while_planned
from clusterctl.core.gates.planning.gate_plan import plan_gates
from clusterctl.core.gates.planning.step import BurnInPart
from clusterctl.core.gates.registry import gate_named, gate_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.gates.planning.gate_plan import GatePlan
    from clusterctl.core.gates.planning.step import GateStep
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.level import Level

# More nodes take no longer, and the pairs of 2,048 take four seconds to plan.
_ENOUGH = 64


def usual_time_s(subjects: Sequence[Subject], level: Level, gates: Sequence[str]) -> float:
    """About how long these gates take on these nodes where nothing is measured again; steps of one batch run at the same time.

    Planned for 64 of them, and for one of each other declaration of gates.

    Raises:
        ConfigError: they cannot be planned.
    """
    some = [*subjects[:_ENOUGH], *{_declared(s): s for s in subjects[_ENOUGH:]}.values()]
    late = gate_names(Scope.GROUP)
    of_nodes = plan_gates(some, level, [g for g in gates if g not in late])
    of_group = plan_gates(some, level, [g for g in gates if g in (*late, *gate_names(Scope.BURN_IN))], BurnInPart.GROUP)
    return sum(_of_plan_s(plan, some) for plan in (of_nodes, of_group))


def _declared(subject: Subject) -> str:
    return repr([subject.node.spec.gates.get(name) for name in ("gates_levels", "gates_settings")])


def _of_plan_s(plan: GatePlan, subjects: Sequence[Subject]) -> float:
    named = {s.name: s for s in subjects}
    longest: dict[int, float] = defaultdict(float)
    for name, steps in plan.steps.items():
        for step in steps:
            longest[step.batch] = max(longest[step.batch], _of_step_s(step, named[name], plan.level))
    return sum(longest.values())


def _of_step_s(step: GateStep, subject: Subject, level: Level) -> float:
    gate = gate_named(step.gate)
    try:
        return gate.usual_s(subject.profile.settings_of(gate), level)
    except Exception as e:
        raise raised_while_planned(gate, e) from e
