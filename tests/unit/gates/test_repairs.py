"""The part and the next action of a bad result: the table is whole, no row hides another, and no hint names another action than its result."""

from __future__ import annotations

import json
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.gates import error_actions
from clusterctl.core.gates.dcgm_errors import dcgm_error_table
from clusterctl.core.gates.registry import gate_names
from clusterctl.core.repairs import repair_of_check, repair_of_finding, repair_of_result, repair_table
from clusterctl.model.gate_reason import NOT_MEASURED, GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.model.repair import NO_REPAIR, Component, NextAction, Repair
from clusterctl_validators.finding import QUIET, Finding, Severity
from clusterctl_validators.xid_catalogue import CATALOGUE, HARMLESS, HINTS, Action
from faults.rows import hint_words
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterctl.core.repairs import CheckRow, GateRow

A = NextAction
TABLE = repair_table()
ON_HARDWARE = {A.REPLACE, A.RESEAT, A.FIELD_DIAGNOSTIC, A.RESET_GPU, A.CONTACT_VENDOR, A.CHECK_CABLE}
RESULT = GateResult("gpu_stress", "n1", Outcome.FAIL, "rate", "gemm_per_clock", device="gpu3", reason=GateReason.BELOW_PEERS)


def finding(check: str, outcome: Outcome = Outcome.FAIL, *, found: str = "7", hint: str = "look", above: str = "") -> Finding:
    return Finding(check, check.partition(".")[0], outcome, Severity.MAJOR, found=found, hint=hint, above=above)


def filled(pattern: str) -> str:
    return pattern.replace("*", "")


def named(hint: str) -> set[NextAction]:
    return {action for action, words in hint_words().items() if words.search(hint)}


def test_each_code_has_its_meaning() -> None:
    assert set(TABLE.components) == set(Component)
    assert set(TABLE.actions) == set(NextAction)


@pytest.mark.parametrize("row", TABLE.checks, ids=lambda r: f"{r.check} {r.found} {r.outcome}")
def test_no_row_of_checks_is_hidden_by_another(row: CheckRow) -> None:
    found = repair_of_check(filled(row.check) or "anything", filled(row.found), row.outcome or Outcome.FAIL)
    assert found == Repair(row.component, row.action)


@pytest.mark.parametrize("row", TABLE.gates, ids=lambda r: f"{r.result} {r.device} {r.outcome}")
def test_no_row_of_gates_is_hidden_by_another(row: GateRow) -> None:
    key, device = row.result.replace("*", "x"), row.device.replace("*", "x")
    fitting = [r for r in TABLE.gates if fnmatchcase(key, r.result) and fnmatchcase(device, r.device) and r.outcome in (None, row.outcome)]
    assert fitting[0] == row


def test_each_gate_states_a_part() -> None:
    for gate in set(gate_names()) - {"load_errors"}:
        found = repair_of_result(GateResult(gate, "n1", Outcome.FAIL, "floor", "figure", reason=GateReason.BELOW_FLOOR))
        assert found.component, gate


def test_a_gate_of_a_site_states_nothing_but_what_its_results_state() -> None:
    own = replace(RESULT, gate="burn_hall", rule="hall", metric="hall")
    assert repair_of_result(own) == NO_REPAIR
    assert repair_of_result(replace(own, repair=Repair(Component.COOLING, A.CHECK_COOLING))) == Repair(Component.COOLING, A.CHECK_COOLING)


@pytest.mark.parametrize("outcome", sorted(QUIET))
def test_what_is_good_needs_nothing(outcome: Outcome) -> None:
    assert repair_of_result(replace(RESULT, outcome=outcome)) == NO_REPAIR
    assert repair_of_finding(finding("hardware.gpu[3].power_brake", outcome)) == NO_REPAIR


@pytest.mark.parametrize("gate", gate_names())
def test_what_was_not_measured_is_about_no_part_and_asks_for_no_repair(gate: str) -> None:
    for reason in NOT_MEASURED:
        found = repair_of_result(GateResult(gate, "n1", Outcome.COULD_NOT_RUN, "complete", reason=reason))
        assert found.component is None, reason
        assert found.next_action not in ON_HARDWARE, reason


def test_the_actions_of_xids_are_those_of_the_catalogue() -> None:
    assert {name for names in TABLE.xids.values() for name in names} <= {action.value for action in Action}


def test_each_xid_that_needs_an_action_has_the_one_that_its_hint_names() -> None:
    for code, action in CATALOGUE.items():
        own = repair_of_check(f"hardware.gpu[3].xid[{code}]").next_action
        assert own == repair_of_check(f"hardware.xid[{code}]").next_action
        if action in HARMLESS | {Action.ACTION_IN_MESSAGE}:
            continue
        assert own, code
        assert own in named(HINTS[action]), code


def test_each_action_of_dcgm_is_the_one_that_its_text_names() -> None:
    known = {name: action for action, names in TABLE.dcgm.actions.items() for name in names}
    for action in dcgm_error_table().actions:
        if action.name not in ("as_xid", "read_output"):
            assert known[action.name] in named(action.text), action.name
    assert {causes for group in TABLE.dcgm.components.values() for causes in group} <= {e.cause for e in dcgm_error_table().codes}


@pytest.mark.parametrize("counter", sorted({*error_actions.counters(), "nvlink_crc_errors", "aer_correctable", "pcie_replays"}))
def test_the_action_for_a_counter_is_the_one_that_its_hint_names(counter: str) -> None:
    result = GateResult("load_errors", "n1", Outcome.FAIL, "growth", counter, device="x", reason=GateReason.RAISED_BY_LOAD)
    action = repair_of_result(result).next_action
    assert action is None or action in named(error_actions.action_for_growth(counter, "x", "n1")), counter


def test_a_code_of_the_vendor_counts_before_the_table_and_in_failures_only() -> None:
    lost = GateResult("load_errors", "n1", Outcome.FAIL, "kernel_log", "xid", reason=GateReason.RAISED_BY_LOAD, error_code="xid.79")
    assert repair_of_result(lost) == Repair(Component.GPU, A.REBOOT_NODE)
    assert repair_of_result(replace(lost, outcome=Outcome.WARN)) == Repair(Component.GPU)
    memory = GateResult("dcgm_diag", "n1", Outcome.FAIL, "diag", "diag_pcie", reason=GateReason.TEST_FAILED, error_code="dcgm.52")
    assert repair_of_result(memory).component is Component.GPU
    assert repair_of_result(replace(memory, error_code="dcgm.9999")) == Repair(Component.PCIE_LINK)


def test_an_xid_of_a_link_is_about_the_link() -> None:
    assert repair_of_check("hardware.gpu[3].xid[74]") == Repair(Component.NVLINK, A.RESET_GPU)
    assert repair_of_check("hardware.xid[149]") == Repair(Component.NVLINK, A.RESET_GPU)
    assert repair_of_check("hardware.gpu[3].xid[79]").component is Component.GPU


def test_a_check_with_a_cause_above_the_node_is_about_that() -> None:
    own = finding("hardware.gpu[3].nvlinks", above="nvlink_domain.rack.switch_trays")
    assert repair_of_finding(own) == Repair(Component.NVSWITCH, A.CHECK_FABRIC)


def test_a_check_without_a_hint_recommends_nothing() -> None:
    assert repair_of_finding(finding("infiniband.counters[mlx5_3]", Outcome.COULD_NOT_RUN, hint="")) == Repair(Component.ADAPTER)


def test_a_check_of_a_site_or_of_what_no_role_sets_recommends_no_role() -> None:
    assert repair_of_finding(finding("acme.fans")) == NO_REPAIR
    assert repair_of_finding(finding("crash_evidence.dumps")) == Repair(Component.NODE)
    assert repair_of_finding(finding("ofed.firmware[mlx5_0].running")) == Repair(Component.ADAPTER)


@pytest.mark.parametrize("name", ["drift", "history", "judge", "provision", "status", "validation", "admit"])
def test_schemas_have_all_codes_and_no_other(name: str) -> None:
    text = (ROOT / "docs" / "reference" / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8")
    for key, codes in (("component", Component), ("next_action", NextAction)):
        enums = list(enums_of(json.loads(text), key))
        assert enums
        assert all(set(found) - {""} == {code.value for code in codes} for found in enums), key


def enums_of(schema: Any, key: str) -> Iterator[list[str]]:
    """The values of each field of a name; those of a class stand under its own."""
    if isinstance(schema, dict):
        for name, value in schema.items():
            known = {"component": "Component", "next_action": "NextAction"}[key]
            if name in (key, known) and isinstance(value, dict) and "enum" in value:
                yield value["enum"]
            yield from enums_of(value, key)
    elif isinstance(schema, list):
        for value in schema:
            yield from enums_of(value, key)


def test_what_a_role_sets_is_set_by_its_role() -> None:
    assert repair_of_finding(finding("hugepages.pages[1G].running")) == Repair(Component.CONFIGURATION, A.PROVISION)


@pytest.mark.parametrize(
    ("found", "action"),
    [("GPU Reset Required", A.RESET_GPU), ("Node Reboot Required", A.REBOOT_NODE), ("Drain P2P", A.END_PROGRAMS), ("Other", None)],
)
def test_what_the_driver_recommends(found: str, action: NextAction | None) -> None:
    assert repair_of_finding(finding("hardware.gpu[3].recovery_action", found=found)) == Repair(Component.GPU, action)


def test_the_name_of_a_switch_stays_beside_the_component_of_the_row() -> None:
    behind = GateResult(
        "rdma_pair", "n1", Outcome.COULD_NOT_RUN, "shared", reason=GateReason.SHARED_FAULT, repair=Repair(component_name="leaf-3, rail 2")
    )
    assert repair_of_result(behind) == Repair(Component.SWITCH, A.CHECK_SWITCH, "leaf-3, rail 2")
    assert Repair(Component.GPU).or_else(Repair(Component.SWITCH, component_name="leaf-3")) == Repair(Component.GPU)


@given(
    st.text(),
    st.text(),
    st.text(),
    st.sampled_from(Outcome),
    st.none() | st.sampled_from(GateReason),
    st.sampled_from(["", "xid.79", "xid.999999", "sxid.1", "dcgm.52", "dcgm.99999"]),
)
def test_any_result_has_an_answer(rule: str, metric: str, device: str, outcome: Outcome, reason: GateReason | None, code: str) -> None:
    result = GateResult("load_errors", "n1", outcome, rule, metric, device=device, reason=reason, error_code=code)
    found = repair_of_result(result)
    assert Repair.of(**found.to_json()) == found
