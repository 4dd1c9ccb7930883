"""cpu_stream: recorded and altered outputs of STREAM under a profile that turns the gate on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.core.gates.gates_profile import profile_of
from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.judging.without_limit import NO_LIMIT
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.errors import ConfigError
from clusterctl.model.level import LEVELS
from support.gates import CASES, SOURCE, TODAY, gates, node, plan, record
from support.plain_yaml import load_yaml
from support.recorded import recorded

if TYPE_CHECKING:
    from clusterctl.model.gate_result import GateResult

FOLDER = CASES / "judge_stream"
EXAMPLES = load_yaml((FOLDER / "cases.yml").read_text(encoding="utf-8"))
FLOOR = {"gate": "cpu_stream", "metric": "triad", "kind": "floor", "value": 100000.0, "unit": "MB/s", **SOURCE}


def declared(*baselines: dict[str, Any], **settings: Any) -> dict[str, Any]:
    levels = {level: ["cpu_stream"] for level in LEVELS}
    return gates(gates_levels=levels, gates_baselines=list(baselines), gates_settings={"cpu_stream": settings})


def verdict(text: str, *baselines: dict[str, Any], **more: Any) -> GateResult:
    subject = subject_of(node("n1", declared=declared(*(baselines or (FLOOR,)))), TODAY)
    run = record("cpu_stream", "n1", text, argv=("env", "OMP_PLACES=cores", "stream_c.exe"), **more)
    # Kernels without a floor are shown beside it.
    (result,) = [r for r in judge([subject], [run], level="full", gates=["cpu_stream"]) if r.rule != NO_LIMIT]
    return result


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda c: c["name"])
def test_case(case: dict[str, Any]) -> None:
    text = recorded(case["recorded"]).read_text() if "recorded" in case else (CASES / case["file"]).read_text()
    for old, new in case.get("replace", {}).items():
        assert old in text
        text = text.replace(old, new)
    result = verdict(text, *[{**FLOOR, **b} for b in case.get("baselines", [])], **case.get("record", {}))
    for key, wanted in case["expect"].items():
        found = getattr(result, key)
        assert (wanted in found) if key in ("detail", "hint") else found == wanted, (key, result)


def test_the_command_line_names_program_and_threads() -> None:
    def argv(**settings: Any) -> tuple[str, ...]:
        return plan([node("n1", declared=declared(FLOOR, **settings))], ["cpu_stream"]).steps["n1"][0].argv

    assert argv() == ("env", "OMP_PLACES=cores", "OMP_PROC_BIND=spread", "stream_c.exe")
    assert argv(program="/opt/stream", threads=96)[-2:] == ("OMP_NUM_THREADS=96", "/opt/stream")


@pytest.mark.parametrize(
    ("baselines", "settings", "problem"),
    [
        ([], {}, "no floor for cpu_stream"),
        ([{**FLOOR, "unit": "GB/s"}], {}, "unit: 'GB/s'; triad is in MB/s"),
        ([FLOOR], {"threads": 0}, "gates_settings.cpu_stream.threads: should be greater than 0"),
    ],
)
def test_a_profile_that_cannot_be_judged_is_refused(baselines: list[dict[str, Any]], settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as refused:
        profile_of(node("n1", declared=declared(*baselines, **settings)), TODAY)
    assert problem in str(refused.value)
