"""The record says what it stands on, and a changed one is noticed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from clusterctl.core.admission import record as admission_record
from clusterctl.core.digest import canonical_json
from clusterctl.model.gate_result import Baseline, BaselineKind, Outcome
from clusterctl.model.state import State
from clusterctl.model.verdict import NodeVerdict
from clusterctl_validators.finding import Severity
from support.stores import DIGEST, GATE, ROLE, a_finding, a_record, a_result, findings

if TYPE_CHECKING:
    from clusterctl.model.records import AdmissionRecord

NAME = "r12-n01"
BASELINE = Baseline(GATE, "bandwidth_average", BaselineKind.FLOOR, 180.0, "Gb/s", "vendor data sheet", "2024-05")


def _built() -> AdmissionRecord:
    return admission_record.build_record(
        NodeVerdict(NAME, admit=True, state=State.BURNED_IN, reasons=()),
        run_id="run-1",
        spec_digest=DIGEST,
        operator="alice",
        at="2026-03-14T09:00:00.000000Z",
        expected_roles=[ROLE],
        expected_gates=[GATE],
        findings=findings(a_finding(), a_finding(Outcome.FAIL, Severity.MINOR, "motd")),
        gate_results=[a_result(), a_result(node="r12-n02")],
        baselines=[BASELINE],
        evidence={f"run-1/gates/rdma_pair/{n}.json": "0" * 64 for n in ("r12-n01", "r12-n02", "r12-n03")},
        versions={"clusterctl": "0.1.0"},
    )


def test_it_holds_the_evidence() -> None:
    data = json.loads(_built().document)
    assert (data["kind"], data["schema_version"], data["node"], data["spec_digest"]) == ("admission", 1, NAME, DIGEST)
    assert data["expected"] == {"roles": [ROLE], "gates": [GATE]}
    assert (data["findings"]["count"], [f["check"] for f in data["findings"]["not_good"]]) == (2, ["motd"])
    assert [g["node"] for g in data["gate_results"]] == [NAME]
    assert data["baselines"][0]["source"] == "vendor data sheet"
    assert data["simulated"] is True
    assert list(data["evidence"]) == ["run-1/gates/rdma_pair/r12-n01.json", "run-1/gates/rdma_pair/r12-n02.json"]


def test_it_is_canonical_and_reproducible() -> None:
    assert _built() == _built()
    assert canonical_json(json.loads(_built().document)) == _built().document


def test_a_changed_record_is_noticed() -> None:
    record = a_record(NAME, "run-1")
    assert admission_record.is_intact(record)
    assert not admission_record.is_intact(replace(record, document=record.document.replace("alice", "mallory")))
    assert not admission_record.is_intact(replace(record, node="r12-n02"))
    forged = record.document.replace(DIGEST, "e" * 64)
    assert not admission_record.is_intact(replace(record, document=forged, digest=admission_record.digest(forged)))


@pytest.mark.parametrize("verdict", [NodeVerdict(NAME, False, State.QUARANTINED, ()), NodeVerdict("r12-n02", True, State.BURNED_IN, ())])
def test_no_record_without_a_verdict_that_admits(verdict: NodeVerdict) -> None:
    with pytest.raises(ValueError, match="may not be admitted"):
        admission_record.build_record(
            verdict,
            run_id="run-1",
            spec_digest=DIGEST,
            operator="alice",
            at="",
            expected_roles=[],
            expected_gates=[],
            findings=findings(),
            gate_results=[],
            baselines=[],
            evidence={},
            versions={},
        )
