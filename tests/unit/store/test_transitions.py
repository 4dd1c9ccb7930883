"""Every pair of states, and every way into the pool."""

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
from support.stores import DIGEST, a_node, a_record, a_run, bring, burn_in, fresh

if TYPE_CHECKING:
    from clusterctl.adapters.store import Store

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


@pytest.mark.parametrize(("current", "wanted"), list(itertools.product(State, State)))
def test_every_pair(tmp_path: Path, current: State, wanted: State) -> None:
    store = fresh(tmp_path)
    store.register([a_node()])
    _force(store, current)
    allowed = wanted in LEGAL[current] and wanted is not State.ADMITTED
    if allowed:
        row = store.transition(NAME, wanted, run_id="", operator="alice", reason="why")
        assert (row.from_state, row.to_state) == (current, wanted)
        assert store.history(NAME) == (row,)
    else:
        with pytest.raises(IllegalTransitionError) as caught:
            store.transition(NAME, wanted, run_id="", operator="alice", reason="why")
        assert caught.value.hint
        assert store.history(NAME) == ()
    record = store.node(NAME)
    assert record is not None
    assert record.state is (wanted if allowed else current)


def test_only_burned_in_and_drained_lead_to_admitted() -> None:
    assert {s for s in State if State.ADMITTED in LEGAL[s]} == {State.BURNED_IN, State.DRAINED}


def test_an_admitted_node_is_never_touched_before_it_left_the_pool() -> None:
    assert LEGAL[State.ADMITTED] == {State.DRAINED, State.QUARANTINED}


def test_a_good_run_admits(store: Store) -> None:
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


def test_a_record_is_only_taken_of_a_burned_in_node(store: Store) -> None:
    bring(store, NAME, State.PROVISIONING, State.PROVISIONED, State.VALIDATED)
    with pytest.raises(IllegalTransitionError):
        store.save_admission(a_record(NAME, a_run().id))
    assert store.admissions(NAME) == ()


def test_drained_and_back_on_the_same_record(store: Store) -> None:
    burn_in(store, a_run())
    bring(store, NAME, State.ADMITTED, State.DRAINED, State.ADMITTED)
    record = store.node(NAME)
    assert record is not None
    assert record.state is State.ADMITTED


def test_drained_and_not_back_when_the_spec_moved_on(store: Store) -> None:
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
def test_a_detour_voids_the_old_record(store: Store, detour: tuple[State, ...]) -> None:
    burn_in(store, a_run())
    bring(store, NAME, State.ADMITTED, *detour)
    with pytest.raises(IllegalTransitionError):
        store.transition(NAME, State.ADMITTED, run_id="", operator="alice")


def test_an_unknown_node_is_told(store: Store) -> None:
    with pytest.raises(IllegalTransitionError, match="r99-n01 is unknown"):
        store.transition("r99-n01", State.PROVISIONING, run_id="", operator="alice")


class Lives(RuleBasedStateMachine):
    """Any sequence of steps, records and spec changes; what is admitted was always proven."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = fresh(Path(self.folder.name))
        self.digest = DIGEST
        self.store.register([a_node()])
        self.store.start_run(a_run())

    @property
    def state(self) -> State:
        record = self.store.node(NAME)
        assert record is not None
        return record.state

    @rule(wanted=st.sampled_from(State))
    def any_step(self, wanted: State) -> None:
        self.step(wanted)

    def step(self, wanted: State) -> None:
        before = self.state
        try:
            self.store.transition(NAME, wanted, run_id="", operator="alice")
        except IllegalTransitionError:
            assert self.state is before
        else:
            assert wanted in LEGAL[before]
            assert self.state is wanted

    @precondition(lambda self: self.state not in {State.ADMITTED, State.RMA, State.RETIRED})
    @rule()
    def good_run(self) -> None:
        burn_in(self.store, a_run(), digest=self.digest)

    @rule(path=st.lists(st.sampled_from([State.ADMITTED, State.DRAINED, State.QUARANTINED]), min_size=1, max_size=5))
    def in_and_out(self, path: list[State]) -> None:
        for wanted in path:
            self.step(wanted)
            self.whatever_is_admitted_was_burned_in_since_it_was_last_touched()

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
    def history_is_a_legal_walk(self) -> None:
        steps = self.store.history(NAME)
        assert all(s.to_state in LEGAL[s.from_state] for s in steps)
        assert all(a.to_state is b.from_state for a, b in itertools.pairwise(steps))
        assert (steps[-1].to_state if steps else State.REGISTERED) is self.state

    @invariant()
    def whatever_is_admitted_was_burned_in_since_it_was_last_touched(self) -> None:
        if self.state is not State.ADMITTED:
            return
        walked = [s.to_state for s in self.store.history(NAME)]
        touched = len(walked) - 1 - walked[::-1].index(State.PROVISIONING)
        assert State.BURNED_IN in walked[touched:]
        assert State.QUARANTINED not in walked[touched:]
        assert self.store.admissions(NAME)

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()


TestLives = Lives.TestCase
TestLives.settings = settings(max_examples=60, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
