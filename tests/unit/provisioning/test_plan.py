from __future__ import annotations

import pytest

from clusterctl.adapters.validator_declarations import read_traits
from clusterctl.core.lifecycle import LEGAL
from clusterctl.core.plan import PlanInput, plan_node, roles_to_apply
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.gate_result import GateResult
from clusterctl.model.plan import NodePlan, PlannedAction
from clusterctl.model.provision import ProvisionOptions
from clusterctl.model.records import NodeRecord
from clusterctl.model.state import State
from clusterctl_validators.finding import Finding, Outcome, Severity
from support.provisioning import GATES, finding, node


def findings(*bad: str, could_not_run: str = "", status: NodeStatus = NodeStatus.OK) -> NodeFindings:
    def outcome(role: str) -> Outcome:
        if role == could_not_run:
            return Outcome.COULD_NOT_RUN
        return Outcome.FAIL if role in bad else Outcome.PASS

    return NodeFindings("r12-n01", status, "", tuple(finding(r, outcome(r)) for r in ("kernel", "hugepages")), 0.1)


def plan(
    state: State,
    now: NodeFindings,
    then: NodeFindings | None = None,
    results: tuple[GateResult, ...] = (),
    digest: str = "d1",
    **options: bool,
) -> NodePlan:
    record = NodeRecord("r12-n01", "r12", 1, (), state, "", digest, "run", "", "lab")
    known = PlanInput(node("r12-n01"), record, now, then, results, GATES, recorded_gates=frozenset(GATES), traits=read_traits(()))
    return plan_node(known, ProvisionOptions(**options))  # type: ignore[arg-type]


FAILED_GATE = (GateResult("rdma_pair", "r12-n01", Outcome.FAIL, "floor", "bandwidth", "360", "196", device="mlx5_3"),)
UNREAD_GATE = (GateResult("rdma_pair", "r12-n01", Outcome.COULD_NOT_RUN, "complete"),)


def test_roles_with_something_to_do_in_the_order_of_the_node() -> None:
    assert plan(State.REGISTERED, findings("hugepages", "kernel")).roles == ("kernel", "hugepages")
    assert plan(State.REGISTERED, findings("hugepages")).roles == ("hugepages",)
    assert plan(State.REGISTERED, findings(could_not_run="kernel")).roles == ("kernel",)


@pytest.mark.parametrize(
    ("check", "roles"),
    [
        ("hardware.gpus.on_pci", ("hardware", "kernel")),
        ("hardware.hca[mlx5_0].present", ("hardware", "kernel")),
        ("hardware.gpu[0].fabric", ("kernel",)),
        ("hardware.iommu[mlx5_0]", ("kernel",)),
    ],
)
def test_a_role_that_only_asserts_is_started_where_what_it_asserts_is_bad(check: str, roles: tuple[str, ...]) -> None:
    one = node("r12-n01", "d1", ("hardware", "kernel"))
    for outcome in (Outcome.FAIL, Outcome.COULD_NOT_RUN):
        bad = (Finding(check, "hardware", outcome, Severity.CRITICAL), finding("kernel", Outcome.FAIL))
        now = NodeFindings("r12-n01", NodeStatus.OK, "", (finding("hardware"), *bad), 0.1)
        assert roles_to_apply(one, now, ProvisionOptions(), read_traits(())) == roles


def test_a_role_without_any_check_is_applied() -> None:
    empty = NodeFindings("r12-n01", NodeStatus.OK, "", (), 0.1)
    assert plan(State.REGISTERED, empty).roles == ("kernel", "hugepages")


def test_a_node_as_declared_that_was_never_proven_is_burned_in() -> None:
    made = plan(State.REGISTERED, findings())
    assert (made.action, made.roles) == (PlannedAction.PROVISION, ())


@pytest.mark.parametrize(
    ("state", "digest", "bad", "action"),
    [
        (State.ADMITTED, "d1", (), PlannedAction.LEAVE),
        (State.ADMITTED, "d0", (), PlannedAction.PROVISION),
        (State.ADMITTED, "d1", ("kernel",), PlannedAction.PROVISION),
        (State.DRAINED, "d1", (), PlannedAction.PROVISION),
        (State.PROVISIONING, "d1", (), PlannedAction.PROVISION),
    ],
)
def test_what_is_left_alone(state: State, digest: str, bad: tuple[str, ...], action: PlannedAction) -> None:
    assert plan(state, findings(*bad), digest=digest).action is action


def test_all_roles_applies_to_an_admitted_node_as_declared() -> None:
    assert plan(State.ADMITTED, findings(), all_roles=True).roles == ("kernel", "hugepages")


@pytest.mark.parametrize("state", [s for s in State if s is not State.ADMITTED and State.PROVISIONING not in LEGAL[s]])
def test_states_that_may_not_be_provisioned_are_refused_with_a_way_out(state: State) -> None:
    made = plan(state, findings())
    assert (made.action, made.exit_code) == (PlannedAction.REFUSE, ExitCode.USAGE)
    assert made.reasons[0].hint


class TestQuarantined:
    def test_with_a_failed_gate_it_stays_and_says_why(self) -> None:
        made = plan(State.QUARANTINED, findings(), findings(), FAILED_GATE)
        assert (made.action, made.exit_code) == (PlannedAction.LEAVE, ExitCode.GATE_FAILED)
        assert len(made.reasons) == 1
        assert "mlx5_3" in made.reasons[0].text

    def test_with_the_same_failing_check_it_stays(self) -> None:
        made = plan(State.QUARANTINED, findings("kernel"), findings("kernel"))
        assert (made.action, made.exit_code) == (PlannedAction.LEAVE, ExitCode.VALIDATOR_FAILED)

    @pytest.mark.parametrize(
        ("now", "then", "results", "digest"),
        [
            (findings(), findings(), UNREAD_GATE, "d1"),
            (findings(), findings(), (), "d1"),
            (findings(), None, (), "d1"),
            (findings("kernel"), findings(), FAILED_GATE, "d1"),
            (findings(), findings("kernel"), (), "d1"),
            (findings(), findings(), FAILED_GATE, "d0"),
        ],
        ids=["unread gate", "no gate", "no evidence", "new drift", "repaired", "other spec"],
    )
    def test_otherwise_it_is_tried_again(
        self, now: NodeFindings, then: NodeFindings | None, results: tuple[GateResult, ...], digest: str
    ) -> None:
        assert plan(State.QUARANTINED, now, then, results, digest).action is PlannedAction.PROVISION

    def test_retest_tries_it_again(self) -> None:
        assert plan(State.QUARANTINED, findings(), findings(), FAILED_GATE, retest=True).action is PlannedAction.PROVISION


@pytest.mark.parametrize("status", [s for s in NodeStatus if s is not NodeStatus.OK])
@pytest.mark.parametrize("state", [State.REGISTERED, State.ADMITTED, State.QUARANTINED])
def test_a_node_that_did_not_answer_is_never_worked_on(status: NodeStatus, state: State) -> None:
    made = plan(state, NodeFindings("r12-n01", status, "why", (), 0.1))
    assert made.action in {PlannedAction.UNREACHABLE, PlannedAction.REFUSE}
    assert made.exit_code in {ExitCode.UNREACHABLE, ExitCode.VALIDATOR_FAILED}
    assert made.reasons[0].hint
