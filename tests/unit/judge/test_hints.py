"""A hint to reset, reseat or send back a part needs a measurement that shows it: never for evidence that is missing."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.core.gates.gate import Scope
from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.judging.missing_evidence import hint_for, with_hint
from clusterctl.core.gates.registry import all_gates
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from support.gates import MEASURED, REPAIR, TODAY, node, record, repairs_without_evidence

if TYPE_CHECKING:
    from clusterctl.core.gates.gate import Gate

GATES = all_gates()
UNMEASURED = sorted(set(GateReason) - MEASURED)


@pytest.mark.parametrize("gate", GATES, ids=lambda g: g.name)
def test_no_reason_for_missing_evidence_asks_for_a_repair(gate: Gate[Any]) -> None:
    hints = {reason: hint_for(gate, reason, "n1") for reason in UNMEASURED}
    assert all(hints.values())
    assert [reason for reason, hint in hints.items() if REPAIR.search(hint)] == []


@pytest.mark.parametrize("rule", ["floor", "ceiling", "correctness", "transport", "complete", "diag"])
@pytest.mark.parametrize("gate", [g for g in GATES if g.scope is Scope.NODE], ids=lambda g: g.name)
def test_a_node_gate_sends_nobody_to_a_machine_that_it_did_not_measure(gate: Gate[Any], rule: str) -> None:
    blank = GateResult(gate.name, "n1", Outcome.COULD_NOT_RUN, rule, metric="diag_memory", device="gpu3")
    hints = {reason: with_hint(gate, replace(blank, reason=reason)).hint for reason in UNMEASURED}
    assert all(hints.values())
    assert [reason for reason, hint in hints.items() if REPAIR.search(hint)] == []


def dcgm(status: str, test: str = "memory", info: str = "", gpus: int = 8) -> list[GateResult]:
    def of(name: str, gpu: int) -> dict[str, Any]:
        entry: dict[str, Any] = {"entity_group": "GPU", "entity_id": gpu, "status": status if (name, gpu) == (test, 3) else "Pass"}
        return entry | ({"info": [info]} if info and (name, gpu) == (test, 3) else {})

    tests = [{"name": n, "results": [of(n, i) for i in range(gpus)]} for n in ("software", "memory", "pcie")]
    text = json.dumps({"DCGM Diagnostic": {"test_categories": [{"category": "x", "tests": tests}]}})
    found = judge([subject_of(node("n1"), TODAY)], [record("dcgm_diag", "n1", text)], level="standard", gates=["dcgm_diag"])
    return [r for r in found if r.outcome is not Outcome.PASS]


@pytest.mark.parametrize("test", ["memory", "pcie", "software"])
@pytest.mark.parametrize(
    ("status", "info", "gpus"),
    [
        ("Skip", "", 8),
        ("Skip", "Row remapping is not supported on this GPU", 8),
        ("Not Run", "", 8),
        ("Warn", "The test was shortened", 8),
        ("Pass", "Unable to allocate enough memory, test shortened", 8),
        ("Pass", "", 3),
    ],
)
def test_a_diagnostic_that_did_not_take_place_condemns_no_gpu(test: str, status: str, info: str, gpus: int) -> None:
    found = dcgm(status, test, info, gpus)
    assert found
    assert {r.outcome for r in found} == {Outcome.COULD_NOT_RUN}
    assert repairs_without_evidence(found) == []
    assert all(r.hint for r in found)


@pytest.mark.parametrize(("test", "word"), [("memory", "RMA"), ("pcie", "reseat")])
def test_a_diagnostic_that_failed_names_the_repair(test: str, word: str) -> None:
    (result,) = dcgm("Fail", test)
    assert result.outcome is Outcome.FAIL
    assert word in result.hint
