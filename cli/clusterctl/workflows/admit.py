"""Admission: the one order in which a node enters the pool, for `provision` and for `admit`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterctl.adapters import clock
from clusterctl.adapters.pools.read_back import put_in
from clusterctl.adapters.run_directory import RunDir, write_admission
from clusterctl.adapters.signing import unsigned
from clusterctl.core.admission.record import build_record
from clusterctl.core.lifecycle import is_legal, next_action
from clusterctl.model.errors import ClusterctlError, IllegalTransitionError, PoolError, PoolStateUnknownError
from clusterctl.model.state import State
from clusterctl.model.verdict import NodeVerdict, Reason, ReasonKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.adapters.pools.answering import Answering
    from clusterctl.adapters.pools.base import Pool
    from clusterctl.adapters.signing import Signer
    from clusterctl.adapters.store.store import Store
    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.gate_result import Baseline, GateResult
    from clusterctl.model.node import Node
    from clusterctl.model.records import AdmissionRecord
    from clusterctl.model.trouble import TroubleRecord

STEPS = (State.PROVISIONED, State.VALIDATED, State.BURNED_IN)
_REASON = "complete evidence in the record"
# (state, reason): records one transition of a node
Transition = Callable[[State, str], None]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node with what its profile expects of it at the chosen level.

    Attributes:
        due: its record over the limit: it owes a burn-in of level full; None = it owes none.
    """

    node: Node
    gates: tuple[str, ...]
    baselines: tuple[Baseline, ...]
    due: TroubleRecord | None = None


@dataclass(frozen=True, slots=True)
class AdmissionEvidence:
    """What a node is admitted on.

    Attributes:
        folders: directories of the runs that gathered it; the admission record is written into each.
        digests: `<run id>/<file>` -> sha256 of their files.
    """

    findings: NodeFindings
    gate_results: Sequence[GateResult]
    folders: tuple[RunDir, ...]
    digests: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Admitter:
    """Admits on behalf of an operator; `versions` go into the records, `sign` signs them."""

    store: Store
    answering: Answering
    operator: str
    versions: Mapping[str, str]
    sign: Signer = unsigned

    @property
    def pool(self) -> Pool:
        """Where the nodes enter."""
        return self.answering.pool

    def enter_pool(
        self, candidate: Candidate, verdict: NodeVerdict, evidence: AdmissionEvidence | None, state: State, step: Transition
    ) -> None:
        """Bring a node with a passing verdict from `state` into the pool: burned in, record, admitted, pool.

        The record comes before the pool: killed in between, a node is admitted and idle, and the same command again puts it in.

        Raises:
            IllegalTransitionError: the node may not be admitted from `state`; nothing was changed.
            PoolError: the pool refused, or its scheduler is gone; the node is drained.
            PoolStateUnknownError: it is unknown whether it is in; the node is drained, and the next command takes it out first.
        """
        name = candidate.node.name
        if state not in (*STEPS, State.ADMITTED) and not is_legal(state, State.ADMITTED):
            hint = next_action(name, state)
            raise IllegalTransitionError(node=name, current=state.value, wanted=State.ADMITTED.value, hint=hint)
        if state in STEPS:
            if evidence is None:
                raise ValueError(f"{name} passed without evidence")
            for following in STEPS[STEPS.index(state) + 1 :]:
                step(following, _REASON)
            self.store.save_admission(self._record(candidate, verdict, evidence))
        if state is not State.ADMITTED:
            step(State.ADMITTED, _REASON)
        try:
            self.answering.require()
            put_in(self.pool, name, f"admitted by {self.operator}")
        except PoolError as e:
            self.answering.note(e)
            if isinstance(e, PoolStateUnknownError):
                self.store.save_doubt(name, str(e))
            step(State.DRAINED, str(e))
            raise

    def _record(self, candidate: Candidate, verdict: NodeVerdict, evidence: AdmissionEvidence) -> AdmissionRecord:
        """The admission record, signed, and written into the directories of the runs that gathered its evidence."""
        built = build_record(
            verdict,
            run_id=evidence.folders[-1].id,
            spec_digest=candidate.node.spec.digest,
            operator=self.operator,
            at=clock.now(),
            expected_roles=tuple(candidate.node.spec.roles),
            expected_gates=candidate.gates,
            findings=evidence.findings,
            gate_results=evidence.gate_results,
            baselines=candidate.baselines,
            evidence=evidence.digests,
            versions=self.versions,
        )
        record = self.sign(built)
        for folder in evidence.folders:
            write_admission(folder, record)
        return record


def refused(verdict: NodeVerdict, error: ClusterctlError) -> NodeVerdict:
    """The verdict on a node whose evidence is good, but whose state or pool refuses it."""
    kind = ReasonKind.POOL_UNKNOWN if isinstance(error, PoolStateUnknownError) else ReasonKind.REFUSED
    return replace(verdict, admit=False, reasons=(Reason(kind, str(error), hint=error.hint),))


def stored_evidence(store: Store, name: str, findings: NodeFindings | None, results: Sequence[GateResult]) -> AdmissionEvidence | None:
    """The current evidence of a node with the directories of the runs that gathered it; None without findings.

    Raises:
        RunDirectoryGoneError: of one of these runs.
    """
    if findings is None:
        return None
    folders = tuple(RunDir.of(store.run(run_id)) for run_id in store.evidence_runs(name))
    return AdmissionEvidence(findings, results, folders, {file: digest for d in folders for file, digest in d.digests().items()})
