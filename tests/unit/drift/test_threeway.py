from __future__ import annotations

from dataclasses import replace

import pytest

from clusterctl.core.drift.compare import compare_nodes, kind_of
from clusterctl.model.drift import Deviation, DriftKind, DriftReport, Known, Then
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.state import State
from clusterctl_validators.finding import Finding, Outcome, Severity

FAILING = Finding("kernel.cmdline[iommu].running", "kernel", Outcome.FAIL, Severity.MAJOR, expected="pt", found="off")
CHECK = FAILING.check


def known(digest: str, then: Then | None = None) -> Known:
    return Known(State.ADMITTED, digest, {CHECK: then} if then else {})


@pytest.mark.parametrize(
    ("before", "kind"),
    [
        pytest.param(known("d1"), DriftKind.DRIFT, id="same declared state"),
        pytest.param(known(""), DriftKind.PENDING, id="never worked on"),
        pytest.param(known("d0"), DriftKind.PENDING, id="the check is new"),
        pytest.param(known("d0", then=Then("pt", "pt", held=True)), DriftKind.DRIFT, id="this value stayed"),
        pytest.param(known("d0", then=Then("off", "off", held=True)), DriftKind.PENDING, id="this value changed, the node did not"),
        pytest.param(known("d0", then=Then("on", "on", held=True)), DriftKind.DRIFT, id="both changed"),
        pytest.param(known("d0", then=Then("on", "off", held=False)), DriftKind.DRIFT, id="it drifted before the value changed"),
    ],
)
def test_who_moved(before: Known, kind: DriftKind) -> None:
    assert kind_of(FAILING, before, "d1") is kind


@pytest.mark.parametrize("digest", ["d1", "d0", ""])
def test_a_check_that_could_not_run_blames_nobody(digest: str) -> None:
    assert kind_of(replace(FAILING, outcome=Outcome.COULD_NOT_RUN), known(digest), "d1") is DriftKind.UNKNOWN


def results(*findings: Finding, status: NodeStatus = NodeStatus.OK) -> list[NodeFindings]:
    return [NodeFindings("n1", status, "as the test says", findings, 0.1)]


def one(found: list[NodeFindings]) -> DriftReport:
    return compare_nodes(found, {"n1": known("d1")}, {"n1": "d1"})


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (results(replace(FAILING, outcome=Outcome.PASS)), ExitCode.OK),
        (results(replace(FAILING, outcome=Outcome.WAIVED)), ExitCode.OK),
        (results(FAILING), ExitCode.CHANGES_PENDING),
        (results(FAILING, replace(FAILING, outcome=Outcome.COULD_NOT_RUN)), ExitCode.VALIDATOR_FAILED),
        (results(status=NodeStatus.UNREACHABLE), ExitCode.UNREACHABLE),
        (results(status=NodeStatus.HOST_KEY_CHANGED), ExitCode.UNREACHABLE),
        (results(status=NodeStatus.CRASHED), ExitCode.VALIDATOR_FAILED),
    ],
)
def test_exit_codes(found: list[NodeFindings], code: ExitCode) -> None:
    assert one(found).exit_code is code


def test_findings_of_a_node_that_broke_off_are_not_believed() -> None:
    report = one(results(replace(FAILING, outcome=Outcome.PASS), status=NodeStatus.CRASHED))
    assert report.good == frozenset()
    assert [x.node for x in report.lost] == ["n1"]


def test_what_was_expected_then_is_told_where_it_changed() -> None:
    report = compare_nodes(results(FAILING), {"n1": known("d0", then=Then("off", "off", held=True))}, {"n1": "d1"})
    assert report.deviations == (Deviation("n1", CHECK, "kernel", DriftKind.PENDING, Severity.MAJOR, "pt", "off", "", "off"),)
