"""What a level of the burn-in does not prove, gate by gate. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.judging.reading import gate_raised
from clusterctl.core.gates.registry import gate_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.gates.gate import Gate
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.level import Level


def not_proven(subjects: Sequence[Subject], level: Level, gates: Sequence[str]) -> dict[str, str]:
    """Gate -> what its pass does not prove, by the settings of the first node that has it; without gates that state nothing."""
    texts = {gate.name: _stated(gate, subjects, level) for gate in map(gate_named, gates)}
    return {name: text for name, text in texts.items() if text}


def _stated(gate: Gate[Any], subjects: Sequence[Subject], level: Level) -> str:
    having = next((s for s in subjects if gate.name in s.profile.levels[level]), None)
    if having is None:
        return ""
    try:
        return gate.not_proven(having.profile.settings_of(gate), level)
    except Exception as e:  # noqa: BLE001 the code of a site's gate may raise anything, and what was measured is shown all the same
        return f"unknown: {gate_raised(gate, e)}"
