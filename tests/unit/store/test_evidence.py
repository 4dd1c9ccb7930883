"""Findings and gate results: nothing is lost, the newest counts, and only evidence of the present epoch and spec is current."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusterctl.model.errors import StoreError
from clusterctl.model.findings import NodeStatus
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import DeviceValue, Outcome
from clusterctl.model.repair import Component, NextAction, Repair
from clusterctl.model.state import State
from clusterctl_validators.finding import Finding, Severity
from support.stores import a_finding, a_node, a_result, a_run, bring, findings, fresh

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.store import Store

NAME = "r12-n01"
RUN, LATER = "20260314-090000-provision-aaaa", "20260315-090000-validate-bbbb"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = fresh(tmp_path)
    store.register([a_node(), a_node("r12-n02", slot=2)])
    store.start_run(a_run(RUN))
    store.start_run(a_run(LATER, verb="validate"))
    return store


def test_the_newest_validation_is_returned(store: Store) -> None:
    first, second = findings(a_finding(Outcome.FAIL)), findings()
    store.save_findings(RUN, first)
    store.save_findings(RUN, second)
    assert store.findings(NAME) == second
    store.save_findings(LATER, first)
    assert store.findings(NAME) == first
    assert store.findings(NAME, RUN) == second
    assert store.findings("r12-n02") is None


def test_a_failed_validation_is_stored(store: Store) -> None:
    unreachable = findings(status=NodeStatus.UNREACHABLE, detail="no route to host")
    store.save_findings(RUN, unreachable)
    assert store.findings(NAME) == unreachable


def test_the_newest_results_of_every_gate_are_returned(store: Store) -> None:
    store.save_gate_results(RUN, [a_result(gate="dcgm_diag", device="")])
    store.save_gate_results(RUN, [a_result(Outcome.FAIL), a_result(node="r12-n02")])
    assert store.gate_results(NAME) == (a_result(gate="dcgm_diag", device=""), a_result(Outcome.FAIL))
    store.save_gate_results(RUN, [a_result(device="mlx5_0"), a_result()])
    assert store.gate_results(NAME) == (a_result(gate="dcgm_diag", device=""), a_result(device="mlx5_0"), a_result())
    assert store.gate_results("r12-n02", RUN) == (a_result(node="r12-n02"),)
    assert store.gate_results(NAME, LATER) == ()


def test_reasons_and_numbers_are_stored(store: Store) -> None:
    slow = replace(a_result(Outcome.FAIL), reason=GateReason.BELOW_FLOOR, value=98.1, limit=180.0, unit="Gb/s")
    store.save_gate_results(RUN, [slow])
    assert store.gate_results(NAME) == (slow,)


def test_the_vendors_code_and_the_repair_are_stored(store: Store) -> None:
    lost = replace(a_result(Outcome.FAIL), error_code="xid.79", repair=Repair(Component.GPU, NextAction.REBOOT_NODE))
    behind = replace(a_result(Outcome.COULD_NOT_RUN), device="mlx5_0", repair=Repair(component_name="leaf-3, rail 2"))
    store.save_gate_results(RUN, [lost, behind])
    assert set(store.gate_results(NAME)) == {lost, behind}


def test_provisioning_voids_the_evidence_of_a_node(store: Store) -> None:
    bring(store, NAME, State.PROVISIONING)
    store.save_findings(RUN, findings())
    store.save_gate_results(LATER, [a_result()])
    assert store.findings(NAME, current=True) == findings()
    assert store.gate_results(NAME, current=True) == (a_result(),)
    assert store.evidence_runs(NAME) == (RUN, LATER)
    bring(store, NAME, State.PROVISIONING)
    assert store.findings(NAME, current=True) is None
    assert store.gate_results(NAME, current=True) == ()
    assert store.evidence_runs(NAME) == ()
    assert store.findings(NAME) == findings()


def test_a_new_spec_voids_the_evidence_of_a_node(store: Store) -> None:
    store.save_findings(RUN, findings())
    store.save_gate_results(RUN, [a_result()])
    store.register([a_node(digest="e" * 64)])
    assert store.findings(NAME, current=True) is None
    assert store.gate_results(NAME, current=True) == ()


def test_evidence_of_unknown_nodes_and_runs_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match=r"(?i)foreign key"):
        store.save_findings(RUN, findings(node="r99-n01"))
    with pytest.raises(StoreError, match=r"(?i)foreign key"):
        store.save_gate_results("no-such-run", [a_result()])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.text())
def test_any_output_of_a_node_can_be_stored(store: Store, words: str) -> None:
    finding = Finding("x.y", "x", Outcome.FAIL, Severity.MAJOR, found=words)
    store.save_findings(RUN, findings(finding))
    stored = store.findings(NAME)
    assert stored is not None
    assert stored.findings[0].found.replace("\\x00", "\x00") == words.encode("utf-8", "backslashreplace").decode().replace("\\x00", "\x00")


def test_the_runs_of_what_is_returned_are_told(store: Store) -> None:
    assert (store.validated_in(NAME), store.measured_in(NAME)) == ("", ())
    bring(store, NAME, State.PROVISIONING)
    store.save_findings(RUN, findings())
    store.save_gate_results(RUN, [a_result(), a_result(gate="dcgm_diag")])
    store.save_gate_results(LATER, [a_result()])
    assert store.validated_in(NAME, current=True) == RUN
    assert store.measured_in(NAME, current=True) == (RUN, LATER)
    assert store.measured_in(NAME) == (LATER,)
    bring(store, NAME, State.PROVISIONING)
    assert (store.validated_in(NAME, current=True), store.measured_in(NAME, current=True)) == ("", ())
    assert (store.validated_in(NAME), store.measured_in(NAME)) == (RUN, (LATER,))


def test_past_values_are_returned_oldest_first_with_their_runs_and_no_more_than_history_needs(store: Store) -> None:
    figure = {"metric": "busbw", "unit": "GB/s", "op": "all_reduce", "size_bytes": 17179869184, "tool_version": "2.17.6", "device": ""}
    good = replace(a_result(), **figure, by_device=(DeviceValue("gpu0", 410.5), DeviceValue("gpu1\0", 412.0)))  # type: ignore[arg-type]
    for number in range(30):
        store.save_gate_results(RUN if number < 15 else LATER, [replace(good, value=400.0 + number)])
    other = [replace(good, value=1.0, outcome=Outcome.FAIL), replace(good, value=2.0, rule="growth"), replace(good, value=None)]
    # Observed, it was shown as a warning; it is not a good value.
    other.append(replace(good, value=4.0, outcome=Outcome.WARN, observed=Outcome.FAIL))
    store.save_gate_results(LATER, [*other, replace(good, value=3.0, node="r12-n02", observed=Outcome.PASS)])
    found = store.past_results([NAME])
    assert [p.result.value for p in found] == [400.0 + number for number in range(10, 30)]
    assert [p.run_id for p in found] == [RUN] * 5 + [LATER] * 15
    assert all(p.run_at for p in found)
    assert found[0].result == replace(good, value=410.0, by_device=(DeviceValue("gpu0", 410.5), DeviceValue("gpu1\\x00", 412.0)))
    assert {4.0, 1.0} <= {p.result.value for p in store.past_results([NAME], bad_ones=True)}
    assert [p.result.value for p in store.past_results(["r12-n02", "r12-n99"])] == [3.0]
    assert store.past_results([]) == ()
