"""What a level of the burn-in does not prove, gate by gate. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.gates.registry import gate_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.level import Level


def not_proven(subjects: Sequence[Subject], level: Level, gates: Sequence[str]) -> dict[str, str]:
    """Gate -> what its pass does not prove, by the settings of the first node that has it; without gates that state nothing."""
    found: dict[str, str] = {}
    for gate in map(gate_named, gates):
        having = next((s for s in subjects if gate.name in s.profile.levels[level]), None)
        text = gate.not_proven(having.profile.settings_of(gate), level) if having else ""
        if text:
            found[gate.name] = text
    return found
