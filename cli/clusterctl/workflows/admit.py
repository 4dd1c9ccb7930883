"""Admitting on stored evidence: complete, passing, current, or not at all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl.adapters import clock
from clusterctl.adapters.run_directory import RunDir, write_admission
from clusterctl.adapters.signing import unsigned
from clusterctl.core.admission import record as admission_record
from clusterctl.core.admission.decide import decide_admission
from clusterctl.core.lifecycle import is_legal, next_action
from clusterctl.model.errors import ClusterctlError, IllegalTransitionError, PoolError
from clusterctl.model.playbook_result import HostOutcome, HostStatus
from clusterctl.model.state import State
from clusterctl.model.verdict import Admission, NodeVerdict, Reason, ReasonKind
from clusterctl.workflows.lease import lease_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.adapters.pools.base import Pool
    from clusterctl.adapters.signing import Signer
    from clusterctl.adapters.store.store import Store
    from clusterctl.model.gate_result import Baseline
    from clusterctl.model.node import Node
    from clusterctl.model.records import AdmissionRecord, NodeRecord

_WAY = (State.PROVISIONED, State.VALIDATED, State.BURNED_IN)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node with what its profile expects of it at the chosen level."""

    node: Node
    gates: tuple[str, ...]
    baselines: tuple[Baseline, ...]


@dataclass(frozen=True, slots=True)
class Admitter:
    """Admits on behalf of an operator; `versions` go into the records, `sign` signs them."""

    store: Store
    pool: Pool
    operator: str
    versions: Mapping[str, str]
    sign: Signer = unsigned

    def admit(self, candidates: Sequence[Candidate]) -> tuple[Admission, ...]:
        """Admit every candidate whose current evidence allows it; the others stay where they are. Nodes must be registered.

        Raises:
            LeaseHeldError: a run works on one of them; none was admitted.
        """
        with lease_for(self.store, [c.node.name for c in candidates], verb="admit", holder=self.operator):
            return tuple(self._admit(c) for c in candidates)

    def _admit(self, candidate: Candidate) -> Admission:
        record = self.store.node(candidate.node.name)
        if record is None:
            raise ValueError(f"{candidate.node.name} was not registered before its admission")
        verdict = self._verdict(candidate, record)
        if not verdict.admit:
            return Admission(verdict, record.state)
        try:
            self._proceed(candidate, record, verdict)
        except IllegalTransitionError as e:
            return _refused(verdict, record.state, e)
        try:
            # The record first: a kill in between leaves a node that is admitted and idle, and the same command again puts it in.
            self.pool.admit(record.name, f"admitted by {self.operator}")
        except PoolError as e:
            self._move(record, State.DRAINED, str(e))
            return _refused(verdict, record.state, e)
        return Admission(verdict, record.state)

    def _verdict(self, candidate: Candidate, record: NodeRecord) -> NodeVerdict:
        applied = any(s.to_state is State.PROVISIONED and s.epoch == record.epoch for s in self.store.history(record.name))
        return decide_admission(
            record.name,
            expected_roles=tuple(candidate.node.spec.roles),
            expected_gates=candidate.gates,
            findings=self.store.findings(record.name, current=True),
            gate_results=self.store.gate_results(record.name, current=True),
            outcome=HostOutcome(record.name, HostStatus.OK) if applied else None,
        )

    def _proceed(self, candidate: Candidate, record: NodeRecord, verdict: NodeVerdict) -> None:
        if record.state is State.ADMITTED:
            return
        if not (record.state in _WAY or is_legal(record.state, State.ADMITTED)):
            hint = next_action(record.name, record.state)
            raise IllegalTransitionError(node=record.name, current=record.state.value, wanted=State.ADMITTED.value, hint=hint)
        if record.state in _WAY:
            for step in _WAY[_WAY.index(record.state) + 1 :]:
                self._move(record, step)
            self.store.save_admission(self._entry(candidate, record, verdict))
        self._move(record, State.ADMITTED)

    def _move(self, record: NodeRecord, to: State, reason: str = "complete evidence in the record") -> None:
        self.store.transition(record.name, to, run_id="", operator=self.operator, reason=reason)

    def _entry(self, candidate: Candidate, record: NodeRecord, verdict: NodeVerdict) -> AdmissionRecord:
        """The admission record; written into the directories of the runs that gathered its evidence as well."""
        findings = self.store.findings(record.name, current=True)
        if findings is None:
            raise ValueError(f"{record.name} passed without findings")
        runs = [self.store.run(run_id) for run_id in self.store.evidence_runs(record.name)]
        folders = [RunDir.open(Path(r.directory)) for r in runs]
        built = admission_record.build_record(
            verdict,
            run_id=runs[-1].id,
            spec_digest=candidate.node.spec.digest,
            operator=self.operator,
            at=clock.now(),
            expected_roles=tuple(candidate.node.spec.roles),
            expected_gates=candidate.gates,
            findings=findings,
            gate_results=self.store.gate_results(record.name, current=True),
            baselines=candidate.baselines,
            evidence={file: digest for d in folders for file, digest in d.digests().items()},
            versions=self.versions,
        )
        entry = self.sign(built)
        for folder in folders:
            write_admission(folder, entry)
        return entry


def _refused(verdict: NodeVerdict, state: State, error: ClusterctlError) -> Admission:
    return Admission(replace(verdict, admit=False, reasons=(Reason(ReasonKind.REFUSED, str(error), hint=error.hint),)), state)
