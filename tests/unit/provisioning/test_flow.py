from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.run_directory import RunDir
from clusterctl.adapters.store import Store
from clusterctl.model.errors import InterruptedRunError, LeaseHeldError, StoreError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.findings import NodeStatus
from clusterctl.model.gate_result import GateResult
from clusterctl.model.provision import ProvisionOptions
from clusterctl.model.records import RunStatus
from clusterctl.model.state import State
from clusterctl.workflows.provision.flow import provision
from clusterctl_validators.finding import Outcome, Severity
from support.provisioning import GATES, World, node

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clusterctl.model.node import Node

N1, N2, N3 = "r12-n01", "r12-n02", "r12-n03"
BOTH = {"kernel", "hugepages"}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, bad={n: set(BOTH) for n in (N1, N2, N3)}, reboot={"kernel"})


def everywhere(state: State) -> dict[str, State]:
    return dict.fromkeys((N1, N2, N3), state)


def test_a_rack_goes_from_registered_to_admitted(world: World) -> None:
    result = world.run()
    assert result.exit_code is ExitCode.OK
    assert world.states() == everywhere(State.ADMITTED)
    assert world.members() == {N1, N2, N3}
    assert [c[0] for c in world.calls] == ["validate", "provision kernel,hugepages", "reboot", "validate", "burn_in", "validate"]
    assert {n.changed for n in result.nodes} == {2}
    assert result.simulated


def test_the_way_of_a_node_is_on_record(world: World) -> None:
    run = world.run().run_id
    with Store.open(world.url) as store:
        path = [t.to_state.value for t in store.history(N1)]
        assert path == ["provisioning", "provisioned", "validated", "burned_in", "admitted"]
        assert store.admissions(N1)[0].run_id == run
        assert store.run(run).status is RunStatus.DONE
        assert store.leases() == ()
    files = RunDir.open(world.state_dir / "runs" / run).files()
    assert {"result.json", f"admission/{N1}.json", f"verdicts/{N1}.json", "ansible/01-provision/command.txt"} <= set(files)


def test_a_second_run_is_one_round_trip_and_touches_nothing(world: World) -> None:
    world.run()
    world.calls.clear()
    result = world.run()
    assert [c[0] for c in world.calls] == ["validate"]
    assert result.exit_code is ExitCode.OK
    assert not any(n.touched or n.changed for n in result.nodes)
    assert len(world.plans) == 1, "nothing to confirm"


def test_only_the_nodes_and_roles_that_need_it_are_touched(world: World) -> None:
    world.run()
    world.calls.clear()
    world.bad[N2] = {"hugepages"}
    world.run()
    after = [("provision hugepages", (N2,)), ("validate", (N2,)), ("burn_in", (N2,)), ("validate", (N2,))]
    assert world.calls == [("validate", (N1, N2, N3)), *after]


def test_a_changed_node_can_be_compared_with_those_that_were_not(world: World) -> None:
    world.bad = {N2: {"hugepages"}}
    seen: list[list[str]] = []

    def look(what: str) -> None:
        if what == "validate":
            with Store.open(world.url) as store:
                seen.append([n for n in (N1, N2, N3) if store.findings(n, current=True)])

    world.before = look
    world.run()
    assert seen == [[], [N1, N3], [N1, N2, N3]]


def test_a_node_is_out_of_the_pool_before_it_is_touched(world: World) -> None:
    world.run()
    world.bad[N2] = {"hugepages"}
    seen: list[tuple[frozenset[str], State]] = []

    def look(what: str) -> None:
        if what.startswith("provision"):
            seen.append((world.members(), world.states()[N2]))

    world.before = look
    world.run()
    assert seen == [(frozenset({N1, N3}), State.PROVISIONING)]


def test_a_failing_gate_quarantines_its_node_and_the_others_are_admitted(world: World) -> None:
    world.gate_fails = {N2}
    result = world.run()
    assert result.exit_code is ExitCode.GATE_FAILED
    assert world.states() == {N1: State.ADMITTED, N2: State.QUARANTINED, N3: State.ADMITTED}
    assert world.members() == {N1, N3}
    assert "mlx5_3" in world.reasons()[N2]
    assert "196 Gb/s" in world.reasons()[N2]


def test_a_quarantined_node_stays_so_while_nothing_changed(world: World) -> None:
    world.gate_fails = {N2}
    world.run()
    for _ in range(2):  # the second look must still find the evidence of the first run
        world.calls.clear()
        result = world.run()
        assert [c[0] for c in world.calls] == ["validate"]
        assert result.exit_code is ExitCode.GATE_FAILED
        bad = next(n for n in result.nodes if n.node == N2)
        assert "196 Gb/s" in bad.reasons[0].text
        assert result.simulated, "the stored evidence is"
        assert (bad.touched, bad.changed) == (False, 0)


@pytest.mark.parametrize("change", ["retest", "spec"])
def test_a_retest_or_another_spec_takes_it_through_again(world: World, change: str) -> None:
    world.gate_fails = {N2}
    world.run()
    world.gate_fails.clear()
    if change == "spec":
        world.digest = "d2"
    result = world.run(N2, retest=change == "retest")
    assert result.exit_code is ExitCode.OK
    assert world.states()[N2] is State.ADMITTED


def test_a_node_whose_role_fails_drops_out(world: World) -> None:
    world.role_fails = {N1}
    result = world.run()
    assert result.exit_code is ExitCode.ROLE_FAILED
    assert world.states() == {N1: State.QUARANTINED, N2: State.ADMITTED, N3: State.ADMITTED}
    assert world.reasons()[N1] == "role kernel: Install: no such package"
    assert ("burn_in", (N2, N3)) in world.calls


def test_a_transient_role_failure_is_tried_again(world: World) -> None:
    world.role_fails = {N1}
    world.run()
    world.role_fails.clear()
    assert world.run().exit_code is ExitCode.OK
    assert world.states()[N1] is State.ADMITTED


def test_a_check_that_still_fails_quarantines_before_burn_in(world: World) -> None:
    world.bad = {N1: {"hugepages"}}
    world.incurable = {"hugepages"}
    result = world.run()
    assert result.exit_code is ExitCode.VALIDATOR_FAILED
    assert world.states()[N1] is State.QUARANTINED
    assert world.reasons()[N1] == "hugepages.value.running: found 0, expected 1"
    assert world.calls[-2:] == [("burn_in", (N2, N3)), ("validate", (N2, N3))]


def test_a_minor_check_keeps_nobody_out_and_starts_nothing_again(world: World) -> None:
    world.bad, world.incurable, world.severity = {N1: {"hugepages"}}, {"hugepages"}, Severity.MINOR
    assert world.run().exit_code is ExitCode.OK
    world.calls.clear()
    assert world.run().exit_code is ExitCode.OK
    assert [c[0] for c in world.calls] == ["validate"]


@pytest.mark.parametrize("status", [NodeStatus.UNREACHABLE, NodeStatus.HOST_KEY_CHANGED, NodeStatus.AUTH_FAILED, NodeStatus.TIMED_OUT])
def test_a_lost_node_keeps_its_state_and_the_others_go_on(world: World, status: NodeStatus) -> None:
    world.lost = {N1: status}
    result = world.run()
    assert result.exit_code is ExitCode.UNREACHABLE
    assert world.states() == {N1: State.REGISTERED, N2: State.ADMITTED, N3: State.ADMITTED}
    assert result.nodes[0].reasons[0].hint


def test_an_admitted_node_that_is_lost_stays_admitted(world: World) -> None:
    world.run()
    world.lost = {N1: NodeStatus.UNREACHABLE}
    assert world.run().exit_code is ExitCode.UNREACHABLE
    assert world.states()[N1] is State.ADMITTED


def test_a_crash_of_our_validators_un_admits_nobody(world: World) -> None:
    world.run()
    world.lost = dict.fromkeys((N1, N2, N3), NodeStatus.CRASHED)
    assert world.run().exit_code is ExitCode.VALIDATOR_FAILED
    assert world.members() == {N1, N2, N3}


def test_ssh_refused_in_the_middle_quarantines(world: World) -> None:
    world.ansible_lost = {N3}
    result = world.run()
    assert result.exit_code is ExitCode.UNREACHABLE
    assert world.states()[N3] is State.QUARANTINED
    assert "Connection reset by peer" in world.reasons()[N3]


def test_a_node_that_does_not_come_back_is_quarantined(world: World) -> None:
    world.no_return = {N2}
    assert world.run().exit_code is ExitCode.ROLE_FAILED
    assert world.states()[N2] is State.QUARANTINED


def test_a_role_with_more_to_do_after_its_reboot_runs_again_and_reboots_again(world: World) -> None:
    world.bad, world.again = {N1: set(BOTH)}, {"kernel": 1}
    result = world.run()
    assert result.exit_code is ExitCode.OK
    names = [c[0] for c in world.calls]
    first = ["validate", "provision kernel,hugepages", "reboot"]
    assert names == [*first, "validate", "provision kernel", "reboot", "validate", "burn_in", "validate"]


def test_a_role_that_never_stops_asking_for_reboots_keeps_its_node_out(world: World) -> None:
    world.bad, world.again = {N1: set(BOTH)}, {"kernel": 9}
    result = world.run()
    assert result.exit_code is ExitCode.ROLE_FAILED
    assert [c[0] for c in world.calls].count("reboot") == 3
    assert "still requires a reboot after 3" in world.reasons()[N1]


def test_no_reboot_keeps_a_node_out_that_needs_one(world: World) -> None:
    world.bad = {N1: {"kernel"}}
    result = world.run(reboot=False)
    assert result.exit_code is ExitCode.CHANGES_PENDING
    assert world.states()[N1] is State.QUARANTINED
    assert "--no-reboot" in world.reasons()[N1]
    assert "reboot" not in [c[0] for c in world.calls]


def nothing(nodes: Sequence[Node]) -> list[GateResult]:
    return []


def garbage(nodes: Sequence[Node]) -> list[GateResult]:
    return [GateResult(g, n.name, Outcome.COULD_NOT_RUN, "complete", detail="cannot read the output") for n in nodes for g in GATES]


def one_gate_missing(nodes: Sequence[Node]) -> list[GateResult]:
    return [GateResult("dcgm_diag", n.name, Outcome.PASS, "correctness") for n in nodes]


def of_other_nodes(nodes: Sequence[Node]) -> list[GateResult]:
    return [GateResult(g, "r99-n01", Outcome.PASS, "floor") for g in GATES]


@pytest.mark.parametrize("gates", [nothing, garbage, one_gate_missing, of_other_nodes])
def test_without_whole_evidence_nothing_is_admitted(world: World, gates: object) -> None:
    world.gates = gates  # type: ignore[assignment]
    assert world.run().exit_code is ExitCode.GATE_FAILED
    assert world.states() == everywhere(State.QUARANTINED)
    assert world.members() == frozenset()


def test_a_missing_gate_is_tried_again_without_retest(world: World) -> None:
    world.gates = garbage
    world.run()
    world.gates = None
    assert world.run().exit_code is ExitCode.OK


def test_declining_the_plan_touches_nothing(world: World) -> None:
    world.answer = False
    result = world.run()
    assert result.declined
    assert [c[0] for c in world.calls] == ["validate"]
    assert world.states() == everywhere(State.REGISTERED)


def test_two_operators(world: World) -> None:
    inner: list[LeaseHeldError] = []

    def second(what: str) -> None:
        if what == "burn_in":
            with pytest.raises(LeaseHeldError) as caught:
                World(world.state_dir).run(N1)
            inner.append(caught.value)

    world.before = second
    assert world.run().exit_code is ExitCode.OK
    assert "ada" in str(inner[0])
    assert inner[0].hint
    with Store.open(world.url) as store:
        assert len(store.runs()) == 1, "the refused run left no row"


@pytest.mark.parametrize("where", ["provision kernel,hugepages", "reboot", "validate", "burn_in"])
def test_ctrl_c_records_releases_and_a_new_run_goes_on(world: World, where: str) -> None:
    def interrupt(what: str) -> None:
        if what == where and len(world.calls) > 1:
            raise KeyboardInterrupt

    world.before = interrupt
    with pytest.raises(InterruptedRunError) as caught:
        world.run()
    assert caught.value.exit_code is ExitCode.INTERRUPTED
    assert "--resume" in caught.value.hint
    assert world.states() == everywhere(State.PROVISIONING)
    assert "interrupted during" in world.reasons()[N1]
    assert world.members() == frozenset()
    with Store.open(world.url) as store:
        assert store.leases() == ()
        assert store.runs()[0].status is RunStatus.INTERRUPTED
    world.before = lambda _what: None
    assert world.run().exit_code is ExitCode.OK
    assert world.states() == everywhere(State.ADMITTED)


@pytest.mark.parametrize("where", ["provision kernel,hugepages", "burn_in"])
def test_a_full_disk_admits_nobody_and_releases(world: World, where: str) -> None:
    def full(what: str) -> None:
        if what == where:
            raise StoreError(path="/state/runs", detail="No space left on device", hint="free space")

    world.before = full
    with pytest.raises(StoreError, match="No space left"):
        world.run()
    assert world.members() == frozenset()
    assert set(world.states().values()) == {State.PROVISIONING}
    with Store.open(world.url) as store:
        assert store.leases() == ()
        assert store.runs()[0].status is RunStatus.FAILED
        assert store.runs()[0].exit_code == ExitCode.UNEXPECTED


def provision_with_lost_lease(world: World, store: Store, nodes: list[Node]) -> None:
    with world.recorded(store, nodes) as run:
        context = world.context(store, run.rundir, nodes, ProvisionOptions())
        context.lease_lost = lambda: any(c[0] == "reboot" for c in world.calls)
        provision(context, lambda _plan: True)


def test_a_lost_lease_stops_the_run(world: World) -> None:
    def steal(what: str) -> None:
        if what == "reboot":
            with Store.open(world.url) as store:
                store.release(store.runs()[0].id)

    world.before = steal
    nodes = [node(N1)]
    with Store.open(world.url) as store:
        store.register(nodes)
        with pytest.raises(InterruptedRunError, match="lease"):
            provision_with_lost_lease(world, store, nodes)
    assert world.states()[N1] is State.PROVISIONING


def test_a_node_somebody_else_took_out_of_the_pool_is_not_put_back(world: World) -> None:
    with Store.open(world.url) as store:
        store.register([node(N1)])
        store.change_member(N1, member=False, reason="maintenance by grace", may=lambda _present: None)
    result = world.run(N1)
    assert result.exit_code is ExitCode.CHANGES_PENDING
    assert world.states()[N1] is State.DRAINED
    assert world.members() == frozenset()


def test_an_admitted_node_missing_from_the_pool_is_put_back(world: World) -> None:
    world.run()
    with Store.open(world.url) as store:
        LocalPool.create(store).remove(N1, "killed between record and pool")
    assert world.run().exit_code is ExitCode.OK
    assert N1 in world.members()


def test_a_retired_node_is_refused_and_not_asked_to_change(world: World) -> None:
    with Store.open(world.url) as store:
        store.register([node(N1)])
        store.transition(N1, State.RETIRED, run_id="", operator="ada")
    result = world.run()
    assert result.exit_code is ExitCode.USAGE
    assert world.states() == {N1: State.RETIRED, N2: State.ADMITTED, N3: State.ADMITTED}
