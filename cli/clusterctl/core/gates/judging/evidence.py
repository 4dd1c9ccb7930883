"""What one gate is judged on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clusterctl.core.gates.planning.step import BurnInPart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import GateResult, RawRecord
    from clusterctl.model.level import Level
    from clusterctl.model.own_history import HistoryKey


@dataclass(frozen=True, slots=True)
class Evidence:
    """The records of one gate, and the nodes they are about.

    Attributes:
        subjects: all nodes of the burn-in by name, partners too.
        records: those of this gate, always in the same order.
        failed_before: node -> its first result of an earlier scope that is not good.
        group_gates: the gates of this judgement in which all nodes run together.
        usual: what a device read in earlier runs, on average.
    """

    subjects: Mapping[str, Subject]
    records: Sequence[RawRecord]
    level: Level
    failed_before: Mapping[str, GateResult] = field(default_factory=dict)
    group_gates: frozenset[str] = frozenset()
    usual: Mapping[HistoryKey, float] = field(default_factory=dict)

    @property
    def judged(self) -> tuple[Subject, ...]:
        """The nodes that results are about."""
        return tuple(s for s in self.subjects.values() if not s.partner)

    def parts_of(self, subject: Subject) -> tuple[str, ...]:
        """The parts of the burn-in that a node took part in; one that failed a gate before is left out of the group."""
        grouped = self.group_gates & set(subject.profile.levels[self.level]) and subject.name not in self.failed_before
        return (BurnInPart.NODES, BurnInPart.GROUP) if grouped else (BurnInPart.NODES,)
