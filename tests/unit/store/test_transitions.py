"""All pairs of states, and all ways into the pool."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from sqlalchemy import update

from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.engine import writing
from clusterctl.core.lifecycle import LEGAL
from clusterctl.model.errors import IllegalTransitionError
from clusterctl.model.state import State
from support.memory_folder import memory_folder
from support.stores import DIGEST, a_node, a_record, a_run, bring, burn_in, fresh

if TYPE_CHECKING:
    from clusterctl.adapters.store import Store
    from clusterctl.model.records import NodeRecord

NAME = "r12-n01"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = fresh(tmp_path)
    store.register([a_node()])
    store.start_run(a_run())
    return store


def _force(store: Store, state: State) -> None:
    with writing(store._engine) as connection:
        connection.execute(update(t.nodes).values(state=state.value))


@pytest.mark.parametrize(("current", "target"), list(itertools.product(State, State)))
def test_only_legal_transitions_are_possible(tmp_path: Path, current: State, target: State) -> None:
    store = fresh(tmp_path)
    store.register([a_node()])
    _force(store, current)
    allowed = target in LEGAL[current] and target is not State.ADMITTED
    if allowed:
        row = store.transition(NAME, target, run_id="", operator="alice", reason="why")
        assert (row.from_state, row.to_state) == (current, target)
        assert store.history(NAME) == (row,)
    else:
        with pytest.raises(IllegalTransitionError) as caught:
            store.transition(NAME, target, run_id="", operator="alice", reason="why")
        assert caught.value.hint
        assert store.history(NAME) == ()
    record = store.node(NAME)
    assert record is not None
    assert record.state is (target if allowed else current)


def test_only_burned_in_and_drained_lead_to_admitted() -> None:
    assert {s for s in State if State.ADMITTED in LEGAL[s]} == {State.BURNED_IN, State.DRAINED}


def test_an_admitted_node_can_only_be_taken_out() -> None:
    assert LEGAL[State.ADMITTED] == {State.DRAINED, State.MAINTENANCE, State.QUARANTINED}


def test_a_node_with_admission_record_is_admitted(store: Store) -> None:
    burn_in(store, a_run())
    row = store.transition(NAME, State.ADMITTED, run_id=a_run().id, operator="alice")
    assert row.spec_digest == DIGEST
    record = store.node(NAME)
    assert record is not None
    assert (record.state, record.spec_digest, record.last_run) == (State.ADMITTED, DIGEST, a_run().id)


def test_burned_in_without_a_record_is_not_admitted(store: Store) -> None:
    bring(store, NAME, State.PROVISIONING, State.PROVISIONED, State.VALIDATED, State.BURNED_IN)
    with pytest.raises(IllegalTransitionError, match="without current proof") as caught:
        store.transition(NAME, State.ADMITTED, run_id="", operator="alice")
    assert "no admission record" in caught.value.hint


def test_only_a_burned_in_node_gets_an_admission_record(store: Store) -> None:
    bring(store, NAME, State.PROVISIONING, State.PROVISIONED, State.VALIDATED)
    with pytest.raises(IllegalTransitionError):
        store.save_admission(a_record(NAME, a_run().id))
    assert store.admissions(NAME) == ()


def test_a_drained_node_is_readmitted_on_the_same_record(store: Store) -> None:
    burn_in(store, a_run())
    bring(store, NAME, State.ADMITTED, State.DRAINED, State.ADMITTED)
    record = store.node(NAME)
    assert record is not None
    assert record.state is State.ADMITTED


def test_a_drained_node_is_not_readmitted_after_a_spec_change(store: Store) -> None:
    burn_in(store, a_run())
    bring(store, NAME, State.ADMITTED, State.DRAINED)
    store.register([a_node(digest="e" * 64)])
    record = store.node(NAME)
    assert record is not None
    assert record.spec_moved_on
    with pytest.raises(IllegalTransitionError) as caught:
        store.transition(NAME, State.ADMITTED, run_id="", operator="alice")
    assert "declared state changed" in caught.value.hint


@pytest.mark.parametrize("detour", [(State.QUARANTINED, State.DRAINED), (State.DRAINED, State.PROVISIONING, State.DRAINED)])
def test_quarantine_or_provisioning_voids_the_record(store: Store, detour: tuple[State, ...]) -> None:
    burn_in(store, a_run())
    bring(store, NAME, State.ADMITTED, *detour)
    with pytest.raises(IllegalTransitionError):
        store.transition(NAME, State.ADMITTED, run_id="", operator="alice")


def test_maintenance_is_somebodys_and_ends_only_by_release_or_if_included(store: Store) -> None:
    bring(store, NAME, State.MAINTENANCE)
    assert store.nodes()[0].owner == "alice"
    for to in (State.DRAINED, State.ADMITTED, State.PROVISIONING):
        with pytest.raises(IllegalTransitionError, match="is maintenance"):
            bring(store, NAME, to)
    store.transition(NAME, State.PROVISIONING, run_id="", operator="bob", include_owned=True)
    assert store.nodes()[0].owner == ""
    bring(store, NAME, State.MAINTENANCE, State.REGISTERED)


def test_an_unknown_node_is_an_error(store: Store) -> None:
    with pytest.raises(IllegalTransitionError, match="r99-n01 is unknown"):
        store.transition("r99-n01", State.PROVISIONING, run_id="", operator="alice")


class LifecycleMachine(RuleBasedStateMachine):
    """Any sequence of transitions, records and spec changes; a node is never admitted without proof."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(dir=memory_folder())
        self.store = fresh(Path(self.folder.name))
        self.digest = DIGEST
        self.store.register([a_node()])
        self.store.start_run(a_run())

    @property
    def node(self) -> NodeRecord:
        return self.store.nodes()[0]

    @property
    def state(self) -> State:
        return self.node.state

    @rule(to=st.sampled_from(State))
    def any_transition(self, to: State) -> None:
        self.transition(to)

    def transition(self, to: State) -> None:
        before = self.state
        try:
            self.store.transition(NAME, to, run_id="", operator="alice")
        except IllegalTransitionError:
            assert self.state is before
        else:
            assert to in LEGAL[before]
            assert self.state is to

    @precondition(lambda self: self.state not in {State.ADMITTED, State.RMA, State.RETIRED} and not self.node.owner)
    @rule()
    def passed_burn_in(self) -> None:
        burn_in(self.store, a_run(), digest=self.digest)

    @rule(path=st.lists(st.sampled_from([State.ADMITTED, State.DRAINED, State.MAINTENANCE, State.QUARANTINED]), min_size=1, max_size=5))
    def path_through_the_pool(self, path: list[State]) -> None:
        for to in path:
            self.transition(to)
            self.an_admitted_node_was_burned_in_since_it_was_last_provisioned()

    @rule(current=st.booleans())
    def record(self, current: bool) -> None:
        try:
            self.store.save_admission(a_record(NAME, a_run().id, self.digest if current else "0" * 64))
        except IllegalTransitionError:
            assert self.state is not State.BURNED_IN

    @rule(digest=st.sampled_from(["d" * 64, "e" * 64]))
    def declare(self, digest: str) -> None:
        self.digest = digest
        self.store.register([a_node(digest=digest)])

    @invariant()
    def history_is_a_legal_path(self) -> None:
        steps = self.store.history(NAME)
        assert all(s.to_state in LEGAL[s.from_state] for s in steps)
        assert all(a.to_state is b.from_state for a, b in itertools.pairwise(steps))
        assert (steps[-1].to_state if steps else State.REGISTERED) is self.state

    @invariant()
    def an_admitted_node_was_burned_in_since_it_was_last_provisioned(self) -> None:
        if self.state is not State.ADMITTED:
            return
        states = [s.to_state for s in self.store.history(NAME)]
        provisioned = len(states) - 1 - states[::-1].index(State.PROVISIONING)
        assert State.BURNED_IN in states[provisioned:]
        assert not {State.QUARANTINED, State.MAINTENANCE} & set(states[provisioned:])
        assert self.store.admissions(NAME)

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()


TestLifecycle = LifecycleMachine.TestCase
TestLifecycle.settings = settings(max_examples=60, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
