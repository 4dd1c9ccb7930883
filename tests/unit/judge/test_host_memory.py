"""host_memory: words that are read otherwise than written, and runs that prove nothing whatever their verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.gates.gates_profile import profile_of
from clusterctl.core.gates.host_memory import GATE
from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.subject import subject_of
from clusterctl.core.parsers import UnparsableError, parse_output
from clusterctl.model.errors import ConfigError
from clusterctl.model.gate_result import Outcome
from clusterctl.model.level import LEVELS
from clusterctl_tools import host_memory
from support.gates import CASES, REPAIR, TODAY, gates, node, plan
from support.host_memory import UNREPEATED, begin_line, end_line, memory_record, node_memory_output, stress_output
from support.plain_yaml import load_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.node import Node

EXAMPLES = load_yaml((CASES / "judge_host_memory" / "cases.yml").read_text(encoding="utf-8"))
LOG = {
    "unrepeated": UNREPEATED,
    "hugepages": "Log: Using shared hugepage object 0x8 at 0x7fe9f5400000.\n",
    "problem": '{"problem": "stressapptest: Permission denied"}\n',
}


def declared(name: str = "n1", **settings: Any) -> Node:
    levels = {level: ["host_memory"] for level in LEVELS}
    return node(name, declared=gates(gates_levels=levels, gates_baselines=[], gates_settings={"host_memory": settings}))


def verdict(text: str, settings: Mapping[str, Any] | None = None, **more: Any) -> GateResult:
    subject = subject_of(declared(**(settings or {})), TODAY)
    (result,) = judge([subject], [replace(memory_record("n1", text), **more)], level="standard", gates=["host_memory"])
    return result


def text_of(case: dict[str, Any]) -> str:
    if "recorded" in case:
        recorded = (CASES / "parsers" / str(case["recorded"]) / "input.txt").read_text(encoding="utf-8")
        return begin_line(**case["node"]) + recorded + end_line(**case["end"])
    run = dict(case.get("run", {}))
    text = str(case["text"]) if "text" in case else node_memory_output(**{**run, "log": LOG.get(run.get("log", ""), "")})
    for old, new in case.get("replace", {}).items():
        assert old in text
        text = text.replace(old, new)
    drop = case.get("drop")
    assert drop is None or drop in text
    return "".join(line for line in text.splitlines(keepends=True) if drop is None or drop not in line)


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda c: c["name"])
def test_case(case: dict[str, Any]) -> None:
    result = verdict(text_of(case), case.get("settings"), **case.get("record", {}))
    assert f"{result.outcome.value} {result.rule} {result.reason or '-'}" == case["result"]
    assert case.get("says", "") in f"{result.detail}\n{result.hint}"
    assert bool(result.hint) is (result.outcome is not Outcome.PASS)
    assert not (result.outcome is Outcome.COULD_NOT_RUN and REPAIR.search(result.hint))


def test_what_was_counted_is_a_number_with_its_limit() -> None:
    failed, passed = verdict(node_memory_output(incidents=5), exit_status=6), verdict(node_memory_output())
    assert (failed.metric, failed.value, failed.limit, failed.found) == ("hardware_incidents", 5.0, 0.0, "5")
    assert (passed.value, passed.tool_version) == (0.0, "stressapptest 1.0.11_autoconf")


def test_one_command_loads_the_memory_of_each_node_at_the_same_time() -> None:
    both = [declared(name, duration_s=60, threads=96, memory_percent=90, program="/opt/sat") for name in ("n1", "n2")]
    steps = [s for steps in plan(both, ["host_memory"]).steps.values() for s in steps if s.gate == "host_memory"]
    assert {s.argv for s in steps} == {
        ("python3", "host_memory.py", "--seconds", "60", "--memory-percent", "90", "--threads", "96", "--program", "/opt/sat")
    }
    assert {(s.version_argv, s.exclusive, s.timeout_s) for s in steps} == {
        (("python3", "host_memory.py", "--version", "--program", "/opt/sat"), True, 60 + 1800)
    }
    assert len({s.batch for s in steps}) == 1
    assert (GATE.default_levels, GATE.needs_floor, host_memory.requested_s(steps[0].argv)) == (("full",), False, 60.0)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"memory_percent": 96}, "memory_percent: should be less than or equal to 95"),
        ({"least_percent": 0}, "least_percent: should be greater than or equal to 1"),
        ({"memory_percent": 80}, "least_percent 80 cannot be reached with memory_percent 80"),
        ({"threads": 0}, "threads: should be greater than 0"),
        ({"duration_s": {"quick": 60}}, "duration_s"),
        ({"program": ""}, "program"),
        ({"seconds": 60}, "seconds"),
    ],
)
def test_settings_that_cannot_be_met_are_refused(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as refused:
        profile_of(declared(**settings), TODAY)
    assert problem in str(refused.value)


@given(st.integers(0, 1600), st.integers(0, 1600))
def test_what_is_not_a_whole_output_never_passes(begin: int, length: int) -> None:
    text = node_memory_output()
    part = text[begin : begin + length]
    if part.strip() != text.strip():
        assert verdict(part).outcome is not Outcome.PASS


@given(st.integers(0, 1600))
def test_words_that_were_read_otherwise_fail_wherever_the_output_ends(length: int) -> None:
    """From the first whole line about them on."""
    text = node_memory_output(incidents=1)
    seen = text.index("Report Error") + len("Report Error: miscompare : ")
    outcome = verdict(text[:length]).outcome
    assert outcome is (Outcome.FAIL if length >= seen else Outcome.COULD_NOT_RUN)


@given(st.text(max_size=200) | st.builds(lambda v: f'{{"schema_version": 1, "node_mib": {v}, "exit_status": {v}}}', st.integers()))
def test_any_other_text_is_unparsable(text: str) -> None:
    with pytest.raises(UnparsableError):
        parse_output("stressapptest", text)
    assert verdict(text).outcome is Outcome.COULD_NOT_RUN


def test_a_line_that_is_there_twice_is_no_output_of_a_run() -> None:
    for line in ("Stats: Found 0 hardware incidents\n", "Status: PASS - please verify no corrected errors\n"):
        with pytest.raises(UnparsableError, match="2 times"):
            parse_output("stressapptest", stress_output(log=line))
