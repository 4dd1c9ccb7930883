from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.bios_utils import bios_utils
from support.redfish_tree import invented

registry = bios_utils("bios_registry")
plans = bios_utils("bios_plan")

Declared = plans.DeclaredAttribute
BIOS = invented()["/redfish/v1/Systems/Node.1/Firmware"]["Attributes"]
REGISTRY = registry.Registry.parse(invented()["/redfish/v1/Systems/Node.1/Firmware/Registry"])


def plan(*attributes: Any, current: dict[str, Any] | None = None, pending: dict[str, Any] | None = None) -> Any:
    return plans.make_plan(attributes, REGISTRY, {**BIOS, **(current or {})}, pending or {})


def test_declared_values_need_no_write() -> None:
    found = plan(Declared("SriovGlobalEnable", "disable"), Declared("QuietBoot", "Enabled"), Declared("MemFrequency", "4800"))
    assert (found.writes, found.resets, found.problems) == ({}, 0, ())


def test_all_attributes_that_match_are_written() -> None:
    assert plan(Declared("SMTControl", "Disabled")).writes == {"SMTControl_00CB": "Disable", "SMTControl_703E": "Disable"}


def test_pending_values_are_not_written_again() -> None:
    found = plan(Declared("LogicalProc", "Disabled"), pending={"LogicalProc": "Disabled"})
    assert found.writes == {}
    assert found.waiting == {"LogicalProc": "Disabled"}
    assert [str(line) for line in found.lines] == ["LogicalProc: Enabled -> Disabled -> Disabled (waits for a reset)"]


def test_a_pending_change_to_an_undeclared_value_is_reverted() -> None:
    assert plan(Declared("LogicalProc", "Enabled"), pending={"LogicalProc": "Disabled"}).writes == {"LogicalProc": "Enabled"}


def test_undeclared_pending_changes_are_reported() -> None:
    assert plan(Declared("LogicalProc", "Enabled"), pending={"QuietBoot": False, "LogicalProc": "Enabled"}).foreign == {"QuietBoot": False}


def test_children_of_a_preset_wait_for_its_reset() -> None:
    found = plan(Declared("SysProfile", "Custom"), Declared("ProcCStates", "Disabled"))
    assert found.writes == {"SysProfile": "Custom"}
    assert found.resets == 2
    assert str(found.lines[1]) == "ProcCStates: Enabled -> Enabled -> Disabled (after reset 1: SysProfile=Custom)"


def test_after_that_reset_the_children_are_written() -> None:
    found = plan(Declared("SysProfile", "Custom"), Declared("ProcCStates", "Disabled"), current={"SysProfile": "Custom"})
    assert (found.writes, found.resets) == ({"ProcCStates": "Disabled"}, 1)


def test_values_that_the_preset_sets_are_not_written() -> None:
    found = plan(Declared("SysProfile", "PerfOptimized"), Declared("ProcCStates", "Disabled"))
    assert (found.writes, found.problems, found.resets) == ({"SysProfile": "PerfOptimized"}, (), 1)
    assert str(found.lines[1]) == "ProcCStates: Enabled -> Enabled -> Disabled (set by SysProfile=PerfOptimized)"


PROBLEMS = [
    ((Declared("LogicalProk", "x"),), "LogicalProk: this machine has no such attribute; did you mean LogicalProc?"),
    ((Declared("ProcCStates", "Disabled"),), "ProcCStates: cannot become 'Disabled': locked, SysProfile=PerfPerWattOptimizedDapc"),
    (
        (Declared("SysProfile", "PerfOptimized"), Declared("ProcCStates", "Enabled")),
        "ProcCStates: SysProfile=PerfOptimized locks it at 'Disabled', but 'Enabled' is declared",
    ),
    ((Declared("SystemServiceTag", "x"),), "SystemServiceTag: cannot become 'x': locked, read-only on this machine"),
    ((Declared("NotReported", "Enabled"),), "NotReported: is in the registry, but this machine does not report it"),
    ((Declared("LogicalProc", "On-ish"),), "LogicalProc: 'On-ish' is not one of Enabled, Disabled"),
    (
        (Declared("SMTControl", "Auto"), Declared("SMTControl_00CB", "Disable")),
        "SMTControl_00CB: declared as 'Auto' (SMTControl) and as 'Disable' (SMTControl_00CB)",
    ),
]


@pytest.mark.parametrize(("attributes", "problem"), PROBLEMS, ids=[p[1][:40] for p in PROBLEMS])
def test_problems_are_reported(attributes: tuple[Any, ...], problem: str) -> None:
    assert plan(*attributes).problems == (problem,)


def test_an_optional_attribute_may_be_absent_and_another_name_counts() -> None:
    assert plan(Declared("DeterminismSlider", "PerfDeterminism", optional=True)).lines == ()
    assert plan(Declared("HyperThreading", "Disabled", also=("LogicalProc",))).writes == {"LogicalProc": "Disabled"}


LEVELS = ("top", "middle", "leaf", "other")


def machine() -> Any:
    """top locks middle unless it is c and forces it to a while it is a; middle locks leaf unless it is b."""
    values = [{"ValueName": v} for v in "abc"]

    def dependency(source: str, how: str, value: str, target: str, prop: str, to: Any) -> dict[str, Any]:
        source_value = {"MapFromAttribute": source, "MapFromCondition": how, "MapFromProperty": "CurrentValue", "MapFromValue": value}
        return {"Dependency": {"MapFrom": [source_value], "MapToAttribute": target, "MapToProperty": prop, "MapToValue": to}}

    rules = [
        dependency("top", "NEQ", "c", "middle", "ReadOnly", True),
        dependency("top", "EQU", "a", "middle", "CurrentValue", "a"),
        dependency("middle", "NEQ", "b", "leaf", "GrayOut", True),
    ]
    return registry.Registry.parse(
        {
            "RegistryEntries": {
                "Attributes": [{"AttributeName": n, "Type": "Enumeration", "Value": values} for n in LEVELS],
                "Dependencies": rules,
            }
        }
    )


def locked(state: dict[str, str]) -> set[str]:
    return ({"middle"} if state["top"] != "c" else set()) | ({"leaf"} if state["middle"] != "b" else set())


STATES = st.fixed_dictionaries({n: st.sampled_from("abc") for n in LEVELS})


@given(STATES, st.dictionaries(st.sampled_from(LEVELS), st.sampled_from("abc")))
def test_a_plan_without_problems_takes_the_announced_resets(state: dict[str, str], declared: dict[str, str]) -> None:
    state = {**state, "middle": "a"} if state["top"] == "a" else dict(state)
    attributes = [Declared(n, v) for n, v in declared.items()]
    first = plans.make_plan(attributes, machine(), state, {})
    if first.problems:
        return
    for _ in range(first.resets):
        now = plans.make_plan(attributes, machine(), state, {})
        assert now.problems == ()
        assert not set(now.writes) & locked(state), "a locked attribute would be refused"
        waiting = plans.make_plan(attributes, machine(), state, now.writes)
        assert waiting.writes == {}, "a second run before the reset writes nothing"
        state = {**state, **now.writes}
        state = {**state, "middle": "a"} if state["top"] == "a" else state
    assert {n: state[n] for n in declared} == declared
    assert plans.make_plan(attributes, machine(), state, {}).resets == 0


@given(STATES, st.dictionaries(st.sampled_from(LEVELS), st.sampled_from("abc")))
def test_a_problem_names_an_attribute_that_is_locked_or_will_be(state: dict[str, str], declared: dict[str, str]) -> None:
    found = plans.make_plan([Declared(n, v) for n, v in declared.items()], machine(), state, {})
    final = {**state, **declared}
    for problem in found.problems:
        assert problem.split(":")[0] in locked(state) | locked(final)
