"""What is recorded of one node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.model.records import RunStatus

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.part import PartRow
    from clusterctl.model.records import AdmissionRecord, NodeRecord, RunRow, TransitionRow


@dataclass(frozen=True, slots=True)
class Story:
    """Everything recorded of a node; `findings` and `gate_results` are the newest, `unfinished` the runs whose process is gone."""

    node: NodeRecord
    transitions: Sequence[TransitionRow]
    runs: Sequence[RunRow]
    unfinished: frozenset[str]
    findings: NodeFindings | None
    gate_results: Sequence[GateResult]
    admissions: Sequence[AdmissionRecord]
    parts: Sequence[PartRow] = ()

    @property
    def replaced_parts(self) -> tuple[PartRow, ...]:
        """The parts that were replaced or are gone."""
        return tuple(r for r in self.parts if r.ended_run)

    def status_of(self, run: RunRow) -> str:
        """The status of one of its runs."""
        return shown_status(run, self.unfinished)


def shown_status(run: RunRow, unfinished: Collection[str]) -> str:
    """The recorded status of a run, or `unfinished` where its process is gone."""
    return "unfinished" if run.status is RunStatus.RUNNING and run.id in unfinished else run.status.value
