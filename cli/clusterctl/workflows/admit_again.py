"""`admit`: nodes with complete evidence enter the pool, after a look at them; or on the record alone, for a reason that a person gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from clusterctl.adapters.pools.answering import Answering
from clusterctl.adapters.pools.loader import load_pool
from clusterctl.adapters.signing import signer
from clusterctl.adapters.validators import ValidationSettings, validate
from clusterctl.adapters.versions import versions
from clusterctl.core.admission.decide import decide_admission
from clusterctl.core.lemons.demands import demand, owes_full
from clusterctl.model.errors import IllegalTransitionError, PoolError, RunDirectoryGoneError
from clusterctl.model.findings import NodeFindings
from clusterctl.model.node import Node
from clusterctl.model.playbook_result import HostOutcome, HostStatus
from clusterctl.model.state import State
from clusterctl.model.verdict import Admission, admissions_exit_code
from clusterctl.workflows.admit import STEPS, Admitter, Candidate, refused, stored_evidence
from clusterctl.workflows.burnin.measure_and_judge import subjects_of
from clusterctl.workflows.lease import lease_for, leases_on
from clusterctl.workflows.lemons import due_of
from clusterctl.workflows.reconcile import reconcile
from clusterctl.workflows.run import RunStart, recorded_run

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.config import Config
    from clusterctl.adapters.store.store import Store
    from clusterctl.model.findings import ValidationListener
    from clusterctl.model.level import Level
    from clusterctl.model.records import NodeRecord
    from clusterctl.model.trouble_counts import TroubleCounts

Validate = Callable[[Sequence[Node]], Sequence[NodeFindings]]


def admitter_of(config: Config, store: Store) -> Admitter:
    """Admits into the pool of a site, with its signing key.

    Raises:
        ConfigError, PoolError: as the pool.
    """
    return Admitter(store, Answering(load_pool(config.pool, store)), config.operator, versions(), signer(config.signing_key))


def candidates_of(store: Store, limits: TroubleCounts, nodes: Sequence[Node], level: Level) -> tuple[Candidate, ...]:
    """The registered nodes with what their profiles expect of them at a level, and what they owe.

    Raises:
        ConfigError: a profile is invalid.
    """
    due = due_of(store, limits, [n.name for n in nodes])
    return tuple(Candidate(s.node, s.deciding(level), s.profile.baselines, due.get(s.name)) for s in subjects_of(nodes))


def validation(config: Config, store: Store, listener: ValidationListener | None = None) -> Validate:
    """One round trip to each node, with the settings of a site."""
    settings = ValidationSettings(cpu_quota_percent=config.cpu_quota_percent)
    stored = partial(store.findings, current=True)
    return partial(validate, state_dir=config.state_dir, inventory=config.inventory, settings=settings, stored=stored, listener=listener)


def admit_now(
    admitter: Admitter, candidates: Sequence[Candidate], look: Validate, state_dir: Path, *, target: str, include_owned: bool = False
) -> tuple[Admission, ...]:
    """Validate the candidates by `look`, and admit those whose current evidence allows it; the others keep their state. Nodes must be registered.

    Nodes that a person drained keep it, too, without `include_owned`.

    Raises:
        LeaseHeldError: a run holds one of them; none was admitted.
    """
    names = [c.node.name for c in candidates]
    reconcile(admitter.store, admitter.pool, admitter.operator)
    leased = leases_on([c.node for c in candidates])
    start = RunStart("admit", target, admitter.operator, state_dir, names, leased=leased, interrupted="what was not admitted stays out")
    with recorded_run(admitter.store, start) as run:
        admitter.store.register([c.node for c in candidates])
        found = {f.node: f for f in look([c.node for c in candidates])}
        admitter.store.save_findings(run.rundir.id, *found.values())
        admissions = tuple(_admit(admitter, c, found.get(c.node.name), run.rundir.id, include_owned=include_owned) for c in candidates)
        for record in admitter.store.nodes(names):
            admitter.store.save_run_node(run.rundir.id, record.name, phase="done", outcome=record.state.value)
        run.code = admissions_exit_code(admissions)
        run.summary = {"admitted": [a.verdict.node for a in admissions if a.verdict.admit]}
    return admissions


def admit_on_record(
    admitter: Admitter, candidates: Sequence[Candidate], *, reason: str, include_owned: bool = False
) -> tuple[Admission, ...]:
    """As `admit_now`, without a look at the nodes: on their last validation, which must be newer than all that was measured on them.

    Raises:
        LeaseHeldError: a run holds one of them; none was admitted.
    """
    store, why = admitter.store, f"on record: {reason}"

    def last(name: str) -> NodeFindings | None:
        return store.findings(name, current=True) if store.validated_since_measured(name) else None

    reconcile(store, admitter.pool, admitter.operator)
    with lease_for(store, [c.node.name for c in candidates], verb="admit", holder=admitter.operator):
        store.register([c.node for c in candidates])
        return tuple(_admit(admitter, c, last(c.node.name), "", include_owned=include_owned, why=why) for c in candidates)


def _admit(
    admitter: Admitter, candidate: Candidate, findings: NodeFindings | None, run_id: str, *, include_owned: bool, why: str = ""
) -> Admission:
    store, name = admitter.store, candidate.node.name
    record = store.node(name)
    if record is None:
        raise ValueError(f"{name} was not registered before its admission")
    results = store.gate_results(name, current=True)
    verdict = decide_admission(
        name,
        expected_roles=tuple(candidate.node.spec.roles),
        expected_gates=candidate.gates,
        findings=findings,
        gate_results=results,
        outcome=_applied(store, record),
    )
    if verdict.admit and candidate.due and owes_full(candidate.due, store.measured_levels(name)):
        verdict = replace(verdict, admit=False, state=State.QUARANTINED, reasons=(demand(candidate.due, name),))
    if not verdict.admit:
        return Admission(verdict, record.state)

    def step(to: State, reason: str) -> None:
        text = why if why and to is State.ADMITTED else reason
        store.transition(name, to, run_id=run_id, operator=admitter.operator, reason=text, include_owned=include_owned)

    try:
        evidence = stored_evidence(store, name, findings, results) if record.state in STEPS else None
        admitter.enter_pool(candidate, verdict, evidence, record.state, step)
    except (IllegalTransitionError, PoolError, RunDirectoryGoneError) as e:
        return Admission(refused(verdict, e), record.state)
    return Admission(verdict, record.state)


def _applied(store: Store, record: NodeRecord) -> HostOutcome | None:
    """The outcome of the roles, if they were applied since the node's evidence was last voided."""
    applied = any(s.to_state is State.PROVISIONED and s.epoch == record.epoch for s in store.history(record.name))
    return HostOutcome(record.name, HostStatus.OK) if applied else None
