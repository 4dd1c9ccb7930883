"""What one gate is judged on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import RawRecord
    from clusterctl.model.level import Level


@dataclass(frozen=True, slots=True)
class Evidence:
    """The records of one gate, and the nodes they are about.

    Attributes:
        subjects: all nodes of the burn-in by name, partners too.
        records: those of this gate, always in the same order.
        failed_before: node -> the first gate of an earlier scope that it did not pass.
    """

    subjects: Mapping[str, Subject]
    records: Sequence[RawRecord]
    level: Level
    failed_before: Mapping[str, str] = field(default_factory=dict)

    @property
    def judged(self) -> tuple[Subject, ...]:
        """The nodes that results are about."""
        return tuple(s for s in self.subjects.values() if not s.partner)
