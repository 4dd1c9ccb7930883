"""What was measured is kept, and no healthy node is taken out only because it would be measured alone."""

from __future__ import annotations

import errno
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.run_directory import RunDir
from clusterctl.adapters.store import Store
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.errors import InterruptedRunError, StoreError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.plan import PlannedAction
from clusterctl.model.state import State
from clusterctl.workflows.admit import Admitter
from clusterctl.workflows.provision.neighbours import hold, neighbour_names, nodes_alone
from support.gates import TODAY, gates
from support.gates import node as gate_node
from support.provisioning import World, node

if TYPE_CHECKING:
    from pathlib import Path

N1, N2, N3 = "r12-n01", "r12-n02", "r12-n03"


class KilledError(BaseException):
    """Nothing after it runs, not even what records an interruption."""


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, bad={n: {"kernel"} for n in (N1, N2, N3)}, pairs=True)


def stopped_in_admission(world: World, monkeypatch: pytest.MonkeyPatch, error: type[BaseException], state: State) -> None:
    """The second node is left in `state`, the third is validated."""
    enter = Admitter.enter_pool

    def stop(self: Admitter, candidate: Any, *rest: Any) -> None:
        if candidate.node.name == N2:
            if state is State.BURNED_IN:
                rest[-1](State.BURNED_IN, "x")
            raise error
        enter(self, candidate, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(Admitter, "enter_pool", stop)
        if error is KilledError:
            patched.setattr("clusterctl.workflows.provision.flow._record_stop", lambda *_: None)
        with pytest.raises((InterruptedRunError, KilledError)):
            world.run()
    assert world.states() == {N1: State.ADMITTED, N2: state, N3: State.VALIDATED}


@pytest.mark.parametrize("state", [State.VALIDATED, State.BURNED_IN])
@pytest.mark.parametrize("error", [KilledError, KeyboardInterrupt])
def test_stopped_in_admission_the_next_run_admits_without_measuring_again(
    world: World, monkeypatch: pytest.MonkeyPatch, error: type[BaseException], state: State
) -> None:
    stopped_in_admission(world, monkeypatch, error, state)
    world.calls.clear()
    assert world.members() == {N1}
    with Store.open(world.url) as store:
        assert store.admitted_by(store.runs()[0].id) == (N1,)
    told = [p.text for p in world.progress if hasattr(p, "text")]
    assert any(f"admitted before: {N1}" in text for text in told) is (error is KeyboardInterrupt)
    result = world.run()
    assert result.exit_code is ExitCode.OK
    assert [c[0] for c in world.calls] == ["validate"]
    assert world.members() == {N1, N2, N3}
    assert result.simulated, "the numbers are those of the lab, whichever run measured them"
    with Store.open(world.url) as store:
        runs = [r.id for r in store.runs()]
        assert store.admissions(N2)[-1].run_id in runs
    assert result.run_id in runs
    assert all(f"admission/{N2}.json" in RunDir.open(world.state_dir / "runs" / run).files() for run in runs)


def test_a_disk_that_fills_while_verdicts_are_written_admits_no_further_node(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    write = RunDir.write_text

    def full(self: RunDir, relative: str, content: str) -> Path:
        if relative == f"admission/{N2}.json":
            raise StoreError(path=self.path, detail="No space left on device", hint="free space") from OSError(errno.ENOSPC, "full")
        return write(self, relative, content)

    monkeypatch.setattr(RunDir, "write_text", full)
    with pytest.raises(StoreError):
        world.run()
    assert world.members() == {N1}
    assert world.states() == {N1: State.ADMITTED, N2: State.BURNED_IN, N3: State.VALIDATED}
    monkeypatch.undo()
    assert world.run().exit_code is ExitCode.OK
    assert world.members() == {N1, N2, N3}


def test_evidence_whose_raw_records_are_gone_is_measured_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped_in_admission(world, monkeypatch, KilledError, State.VALIDATED)
    shutil.rmtree(world.state_dir / "runs")
    world.calls.clear()
    assert world.run().exit_code is ExitCode.OK
    assert ("burn_in", (N2, N3)) in world.calls
    assert world.members() == {N1, N2, N3}
    why = {p.node: p.why for p in world.plans[-1].nodes}
    assert why[N2] == why[N3] == "measured before, but the run directory with the raw records is gone: burn-in is missing"


def test_what_drifted_meanwhile_is_measured_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped_in_admission(world, monkeypatch, KilledError, State.VALIDATED)
    world.bad = {N2: {"kernel"}, N3: {"kernel"}}
    world.calls.clear()
    assert world.run().exit_code is ExitCode.OK
    assert ("burn_in", (N2, N3)) in world.calls


@pytest.mark.parametrize("option", ["all_roles", "retest"])
def test_who_wants_it_measured_again_gets_it(world: World, monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    stopped_in_admission(world, monkeypatch, KilledError, State.VALIDATED)
    world.run(N2, N3, all_roles=option == "all_roles", retest=option == "retest")
    assert world.calls[-2:] == [("burn_in", (N2, N3)), ("validate", (N2, N3))]


def test_declined_nothing_is_admitted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped_in_admission(world, monkeypatch, KilledError, State.VALIDATED)
    world.answer = False
    assert world.run().declined
    assert world.members() == {N1}
    assert [p.action for p in world.plans[-1].nodes] == [PlannedAction.LEAVE, PlannedAction.ADMIT, PlannedAction.ADMIT]


def test_one_drifted_node_of_a_pair_target_stays_in_service(world: World) -> None:
    world.run()
    world.bad = {N2: {"kernel"}}
    world.calls.clear()
    result = world.run()
    assert result.exit_code is ExitCode.USAGE
    assert [c[0] for c in world.calls] == ["validate"], "nothing was changed"
    assert world.members() == {N1, N2, N3}
    reason = next(n for n in result.nodes if n.node == N2).reasons[0]
    assert "needs a second node" in reason.text
    assert "--partners" in reason.hint
    assert "auto_partners" in reason.hint


def test_with_neighbours_that_the_site_allows_it_is_measured(world: World) -> None:
    world.run()
    world.bad, world.allowed_partners = {N2: {"kernel"}}, (N1,)
    result = world.run()
    assert result.exit_code is ExitCode.OK
    assert any(f"measured with {N1}" in getattr(p, "text", "") for p in world.progress)
    assert world.states() == dict.fromkeys((N1, N2, N3), State.ADMITTED)


def test_a_node_that_is_not_in_service_may_still_be_provisioned_alone(world: World) -> None:
    assert world.run(N1).exit_code is ExitCode.GATE_FAILED
    assert world.states()[N1] is State.QUARANTINED


def test_which_nodes_are_alone() -> None:
    one, other = (subject_of(gate_node(n, declared=gates()), TODAY) for n in ("n1", "n2"))
    partner = subject_of(other.node, TODAY, partner=True)
    assert set(nodes_alone([one], "standard")) == {"n1"}
    assert nodes_alone([one], "quick") == {}
    assert nodes_alone([one, other], "standard") == nodes_alone([one, partner], "standard") == {}
    assert nodes_alone([partner], "standard") == {}


def test_neighbours_are_admitted_of_the_rack_and_free(world: World) -> None:
    world.run()
    with Store.open(world.url) as store:
        elsewhere = node("r13-n01")
        assert neighbour_names(store, [node(N2)], [N2], 2, "run") == (N1, N3)
        assert neighbour_names(store, [node(N2)], [N2], 1, "run") == (N1,)
        assert neighbour_names(store, [node(N2)], [N2], 0, "run") == ()
        store.acquire([N1], run_id="other", holder="grace")
        assert neighbour_names(store, [elsewhere], [N2], 2, "run") == (N3,), "the racks of the lab's nodes are one"
        assert not hold(store, [N1], "run", "ada")
        assert hold(store, [N3], "run", "ada")
        assert {x.node: x.run_id for x in store.leases()} == {N1: "other", N3: "run"}
