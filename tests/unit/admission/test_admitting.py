"""`admit` on stored evidence: complete, passing, current, or not at all."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.run_directory import RunDir
from clusterctl.core.admission import record as admission_record
from clusterctl.model.errors import LeaseHeldError
from clusterctl.model.gate_result import Outcome
from clusterctl.model.state import State
from clusterctl.model.verdict import Admission, ReasonKind
from clusterctl.workflows.admit import Admitter, Candidate, admit_on_stored_evidence
from support.stores import GATE, a_finding, a_node, a_result, a_run, bring, findings, fresh

if TYPE_CHECKING:
    from clusterctl.adapters.store import Store
    from clusterctl.model.records import RunRow

NAME = "r12-n01"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = fresh(tmp_path)
    store.register([a_node()])
    return store


@pytest.fixture
def run(store: Store, tmp_path: Path) -> RunRow:
    rundir = RunDir.create(tmp_path, "provision")
    rundir.write_text("gates/rdma_pair/r12-n01.json", "{}")
    row = a_run(rundir.id, str(rundir.path))
    store.start_run(row, [NAME])
    return row


def _applied(store: Store, run: RunRow) -> None:
    bring(store, NAME, State.PROVISIONING, State.PROVISIONED, run_id=run.id)


def _admit(store: Store) -> Admission:
    store.register([a_node()])
    admitter = Admitter(store, LocalPool(store), "bob", {"clusterctl": "0.1.0"})
    return admit_on_stored_evidence(admitter, [Candidate(a_node(), (GATE,), ())])[0]


def test_good_evidence_by_hand_is_enough(store: Store, run: RunRow) -> None:
    _applied(store, run)
    store.save_findings(run.id, findings())
    store.save_gate_results(run.id, [a_result()])
    admission = _admit(store)
    assert (admission.verdict.admit, admission.from_state) == (True, State.PROVISIONED)
    assert LocalPool(store).members() == {NAME}
    assert [s.to_state for s in store.history(NAME)][-3:] == [State.VALIDATED, State.BURNED_IN, State.ADMITTED]
    record = store.admissions(NAME)[0]
    assert admission_record.is_intact(record)
    assert list(json.loads(record.document)["evidence"]) == [f"{run.id}/gates/rdma_pair/r12-n01.json"]
    assert RunDir.open(Path(run.directory)).read_text(f"admission/{NAME}.json") == record.document


def test_evidence_whose_raw_records_are_gone_is_not_enough(store: Store, run: RunRow) -> None:
    _applied(store, run)
    store.save_findings(run.id, findings())
    store.save_gate_results(run.id, [a_result()])
    shutil.rmtree(run.directory)
    admission = _admit(store)
    reason = admission.verdict.reasons[0]
    assert (admission.verdict.admit, reason.kind) == (False, ReasonKind.REFUSED)
    assert f"{run.id}: the run directory no longer exists" in reason.text
    assert "provision" in reason.hint
    assert LocalPool(store).members() == frozenset()
    assert store.node(NAME).state is State.PROVISIONED  # type: ignore[union-attr]


def test_again_changes_nothing(store: Store, run: RunRow) -> None:
    test_good_evidence_by_hand_is_enough(store, run)
    steps = store.history(NAME)
    assert _admit(store).verdict.admit
    assert store.history(NAME) == steps


def test_a_drained_node_comes_back_on_its_record(store: Store, run: RunRow) -> None:
    test_good_evidence_by_hand_is_enough(store, run)
    LocalPool(store).remove(NAME, "drained")
    bring(store, NAME, State.DRAINED)
    assert _admit(store).verdict.admit
    assert len(store.admissions(NAME)) == 1
    assert LocalPool(store).members() == {NAME}


def test_a_drained_node_that_fails_now_stays_out(store: Store, run: RunRow) -> None:
    test_good_evidence_by_hand_is_enough(store, run)
    LocalPool(store).remove(NAME, "drained")
    bring(store, NAME, State.DRAINED)
    store.save_findings(run.id, findings(a_finding(Outcome.FAIL)))
    admission = _admit(store)
    assert [r.kind for r in admission.verdict.reasons] == [ReasonKind.CHECK_FAILED]
    assert LocalPool(store).members() == frozenset()


def test_what_is_missing_is_named(store: Store, run: RunRow) -> None:
    _applied(store, run)
    store.save_findings(run.id, findings())
    admission = _admit(store)
    assert [r.text for r in admission.verdict.reasons] == ["rdma_pair has no result since the node was last touched"]
    assert store.nodes()[0].state is State.PROVISIONED


def test_a_node_nobody_provisioned_lacks_everything(store: Store, run: RunRow) -> None:
    assert {r.kind for r in _admit(store).verdict.reasons} == {
        ReasonKind.ROLES_MISSING,
        ReasonKind.CHECKS_MISSING,
        ReasonKind.GATE_MISSING,
    }


def test_drained_before_it_was_proven_is_refused(store: Store, run: RunRow) -> None:
    _applied(store, run)
    store.save_findings(run.id, findings())
    store.save_gate_results(run.id, [a_result()])
    bring(store, NAME, State.DRAINED)
    admission = _admit(store)
    assert [r.kind for r in admission.verdict.reasons] == [ReasonKind.REFUSED]
    assert LocalPool(store).members() == frozenset()


def test_somebody_elses_removal_is_respected(store: Store, run: RunRow) -> None:
    _applied(store, run)
    store.save_findings(run.id, findings())
    store.save_gate_results(run.id, [a_result()])
    store.change_member(NAME, member=False, reason="carol: reserved", may=lambda _present: None)
    admission = _admit(store)
    assert [r.kind for r in admission.verdict.reasons] == [ReasonKind.REFUSED]
    assert "carol: reserved" in admission.verdict.summary
    assert store.nodes()[0].state is State.DRAINED


def test_a_node_in_a_run_is_left_alone(store: Store, run: RunRow) -> None:
    store.acquire([NAME], run_id=run.id, holder="alice")
    with pytest.raises(LeaseHeldError):
        _admit(store)
