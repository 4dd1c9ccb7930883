"""DCGM's error codes in the verdict of dcgm_diag: the cases, and what must hold of every code and status."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.core.gates.dcgm_errors import dcgm_error_table
from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_result import GateResult, Outcome
from support.gates import CASES, TODAY, node, record, repairs_without_evidence
from support.plain_yaml import load_yaml

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLES = load_yaml((CASES / "dcgm_codes" / "cases.yml").read_text(encoding="utf-8"))
TESTS = ("software", "memory", "pcie")
UNKNOWN = 9999


def run_with(errors: Sequence[tuple[object, str]], *, status: str = "Fail", test: str = "memory") -> list[GateResult]:
    """The results of gpu3, with these errors in one test; every other GPU and test passes."""
    warnings = [{"warning": text} | ({} if code == "none" else {"error_id": code}) for code, text in errors]

    def of(name: str, gpu: int) -> dict[str, Any]:
        bad = (name, gpu) == (test, 3)
        return {"entity_group": "GPU", "entity_id": gpu, "status": status if bad else "Pass", "warnings": warnings if bad else []}

    tests = [{"name": n, "results": [of(n, i) for i in range(8)]} for n in TESTS]
    text = json.dumps({"DCGM Diagnostic": {"test_categories": [{"category": "x", "tests": tests}]}})
    found = judge([subject_of(node("n1"), TODAY)], [record("dcgm_diag", "n1", text)], level="standard", gates=["dcgm_diag"])
    return [r for r in found if r.outcome is not Outcome.PASS]


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda c: c["name"])
def test_a_code_and_its_verdict(case: dict[str, Any]) -> None:
    found = run_with(case["errors"], status=case.get("status", "Fail"), test=case.get("test", "memory"))
    outcome, _, reason = case["result"].partition(" ")
    if outcome == "pass":
        assert found == []
        return
    assert [(r.outcome.value, r.reason and r.reason.value, r.device) for r in found] == [(outcome, reason, "gpu3")]
    assert found[0].hint.startswith(case.get("hint", "")), found[0].hint
    assert case.get("detail", case["errors"][0][1]) in found[0].detail
    assert found[0].hint


@pytest.mark.parametrize("status", ["Fail", "Warn", "Skip", "Not Run"])
def test_no_code_makes_a_pass_of_what_is_none_nor_asks_for_a_repair_without_evidence(status: str) -> None:
    for error in (*dcgm_error_table().codes, None):
        found = run_with([(error.id if error else UNKNOWN, "what DCGM prints")], status=status)
        assert [r.device for r in found] == ["gpu3"], error
        assert found[0].hint, error
        assert "{" not in found[0].hint, error
        assert "what DCGM prints" in found[0].detail, error
        assert repairs_without_evidence(found) == [], error
        if status == "Fail":
            assert (found[0].outcome is Outcome.FAIL) is not (error is not None and error.untested), error


def test_an_unknown_code_beside_any_other_never_makes_a_failure_milder() -> None:
    for error in dcgm_error_table().codes:
        (found,) = run_with([(error.id, "one"), (UNKNOWN, "the other")])
        assert found.outcome is Outcome.FAIL, error


def test_the_order_of_errors_changes_no_verdict() -> None:
    codes = [e.id for e in dcgm_error_table().codes]
    for one, other in zip(codes, codes[7:], strict=False):
        there, back = (run_with([(a, "x"), (b, "x")])[0] for a, b in ((one, other), (other, one)))
        assert (there.outcome, there.reason, there.hint) == (back.outcome, back.reason, back.hint), (one, other)
