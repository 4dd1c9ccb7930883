"""vendor_diag: what a vendor's diagnostic printed under a profile that turns the gate on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.subject import subject_of
from clusterctl.core.parsers import parse_output
from clusterctl.model.level import LEVELS
from support.gates import CASES, TODAY, gates, node, plan, record
from support.plain_yaml import load_yaml

if TYPE_CHECKING:
    from clusterctl.model.gate_result import GateResult

EXAMPLES = load_yaml((CASES / "judge_vendor_diag" / "cases.yml").read_text(encoding="utf-8"))


def declared(**settings: Any) -> dict[str, Any]:
    levels = {level: ["vendor_diag"] for level in LEVELS}
    return gates(gates_levels=levels, gates_baselines=[], gates_settings={"vendor_diag": settings})


def verdicts(text: str, **more: Any) -> tuple[GateResult, ...]:
    subject = subject_of(node("n1", declared=declared()), TODAY)
    run = record("vendor_diag", "n1", text, argv=("fieldiag",), **more)
    return judge([subject], [run], level="full", gates=["vendor_diag"])


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda c: c["name"])
def test_case(case: dict[str, Any]) -> None:
    text = case["text"] if "text" in case else (CASES / "parsers" / case["input"] / "input.txt").read_text(encoding="utf-8")
    results = verdicts(text, **case.get("record", {}))
    for result, expected in zip(results, case["expect"], strict=True):
        for key, wanted in expected.items():
            found = getattr(result, key)
            assert (wanted in found) if key in ("detail", "hint") else found == wanted, (key, result)


def test_the_command_is_the_sites() -> None:
    (step,) = plan([node("n1", declared=declared(command=["/opt/site/diag.sh", "--all"]))], ["vendor_diag"]).steps["n1"]
    assert step.argv == ("/opt/site/diag.sh", "--all")


@pytest.mark.parametrize("word", ["FAIL", "Failed", "Final Result: FAIL", "** FAIL **", "PASS\nFAIL", "FAIL\nPASS"])
def test_a_failure_is_never_a_pass(word: str) -> None:
    assert [s.status for s in parse_output("vendor_diag", f"x\n{word}\n")] == ["FAIL"]
