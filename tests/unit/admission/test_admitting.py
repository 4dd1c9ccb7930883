"""`admit` on stored evidence: complete, passing, current, or not at all."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.pools.answering import Answering
from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.run_directory import RunDir
from clusterctl.core.admission import record as admission_record
from clusterctl.main import call
from clusterctl.model.errors import LeaseHeldError
from clusterctl.model.findings import NodeStatus
from clusterctl.model.gate_result import Outcome
from clusterctl.model.state import State
from clusterctl.model.verdict import Admission, ReasonKind
from clusterctl.workflows.admit import Admitter, Candidate
from clusterctl.workflows.admit_again import admit_now, admit_on_record
from support.stores import GATE, a_finding, a_node, a_result, a_run, bring, findings, fresh

if TYPE_CHECKING:
    from clusterctl.adapters.store import Store
    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.gate_result import GateResult
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


def _admit(store: Store, found: NodeFindings | None = None) -> Admission:
    store.register([a_node()])
    admitter = Admitter(store, Answering(LocalPool(store)), "bob", {"clusterctl": "0.1.0"})
    folder = Path(store.run("last").directory).parents[1]
    seen = found or findings()
    return admit_now(admitter, [Candidate(a_node(), (GATE,), ())], lambda _nodes: [seen], folder, target=NAME)[0]


def _on_record(store: Store) -> Admission:
    admitter = Admitter(store, Answering(LocalPool(store)), "bob", {"clusterctl": "0.1.0"})
    return admit_on_record(admitter, [Candidate(a_node(), (GATE,), ())], reason="its switch is down")[0]


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
    evidence = list(json.loads(record.document)["evidence"])
    assert [e for e in evidence if e.startswith(run.id)] == [f"{run.id}/gates/rdma_pair/r12-n01.json"]
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
    admission = _admit(store, findings(a_finding(Outcome.FAIL)))
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


def _proven(store: Store, run: RunRow, *results: GateResult) -> None:
    _applied(store, run)
    store.save_gate_results(run.id, results or [a_result()])


def _load(outcome: Outcome = Outcome.PASS, boot_id: str = "boot-1") -> GateResult:
    """What the load raised; the gate is not among those that are expected."""
    return replace(a_result(outcome, gate="load_errors", device="GPU0"), boot_id=boot_id)


def test_a_fault_is_not_washed_away_by_a_quieter_burn_in(store: Store, run: RunRow) -> None:
    _proven(store, run, a_result(), _load(Outcome.FAIL))
    store.save_gate_results(run.id, [_load()])
    for admission in (_admit(store), _on_record(store)):
        assert [r.kind for r in admission.verdict.reasons] == [ReasonKind.GATE_FAILED]
        assert "it stands until a repair or a new boot" in admission.verdict.summary
    assert LocalPool(store).members() == frozenset()


def test_a_new_declared_state_does_not_wash_it_away_either(store: Store, run: RunRow) -> None:
    _proven(store, run, a_result(), _load(Outcome.FAIL))
    store.register([a_node(digest="e" * 64)])
    store.save_gate_results(run.id, [a_result(), _load()])
    assert [r.gate for r in store.gate_results(NAME, current=True) if r.outcome is Outcome.FAIL] == ["load_errors"]


def test_measured_in_a_new_boot_it_may_serve(store: Store, run: RunRow) -> None:
    _proven(store, run, a_result(), _load(Outcome.FAIL))
    store.save_gate_results(run.id, [_load(boot_id="boot-2")])
    assert _admit(store, replace(findings(), boot_id="boot-2")).verdict.admit


def test_booted_since_it_was_measured_it_stays_out(store: Store, run: RunRow) -> None:
    _proven(store, run, a_result(), _load())
    admission = _admit(store, replace(findings(), boot_id="boot-2"))
    assert [r.kind for r in admission.verdict.reasons] == [ReasonKind.GATE_MISSING]
    assert "booted since it was measured" in admission.verdict.summary
    assert "--on-record" in admission.verdict.reasons[0].hint
    assert _admit(store, replace(findings(), boot_id="boot-1")).verdict.admit


def test_the_record_alone_admits_only_with_a_validation_after_the_last_gate(store: Store, run: RunRow) -> None:
    _applied(store, run)
    store.save_findings(run.id, findings())
    store.save_gate_results(run.id, [a_result()])
    assert [r.kind for r in _on_record(store).verdict.reasons] == [ReasonKind.CHECKS_MISSING]
    store.save_findings(run.id, findings())
    assert _on_record(store).verdict.admit
    assert store.history(NAME)[-1].reason == "on record: its switch is down"


def test_a_look_is_a_recorded_run(store: Store, run: RunRow) -> None:
    _proven(store, run)
    assert _admit(store).verdict.admit
    seen = store.run("last")
    assert (seen.verb, seen.exit_code, seen.summary) == ("admit", 0, {"admitted": [NAME]})
    assert store.history(NAME)[-1].run_id == seen.id
    assert store.findings(NAME, seen.id) == findings()
    assert [(n.node, n.outcome) for n in store.run_nodes(seen.id)] == [(NAME, "admitted")]


def test_a_node_that_does_not_answer_is_not_admitted(store: Store, run: RunRow) -> None:
    _proven(store, run)
    admission = _admit(store, findings(status=NodeStatus.UNREACHABLE, detail="no route to host"))
    assert [r.kind for r in admission.verdict.reasons] == [ReasonKind.UNREACHABLE]
    assert LocalPool(store).members() == frozenset()


def test_the_record_alone_needs_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["admit", "rack-12", "--on-record"]) == 2
    assert "--reason" in capsys.readouterr().err
