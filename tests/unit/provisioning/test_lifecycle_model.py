"""Whatever persons, machines and runs do to a node, it is where a model of twenty lines says, and in the pool only if admitted."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.store import Store
from clusterctl.core.lifecycle import LEGAL, OWNABLE
from clusterctl.model.move import MoveOutcome
from clusterctl.model.rack_condition import RackCondition
from clusterctl.model.state import State
from clusterctl.workflows.drain import RELEASABLE, drain, release
from clusterctl.workflows.status import overview
from clusterctl.workflows.withdraw import withdraw
from support.memory_folder import memory_folder
from support.provisioning import World
from support.stores import fresh

if TYPE_CHECKING:
    from clusterctl.model.records import NodeRecord

NAME = "r12-n01"
ABSENT = {State.RMA, State.RETIRED}
PERSONS = st.sampled_from(["", "bob", "grace"])


class Lifecycle(RuleBasedStateMachine):
    """One node, the real workflows, and a model beside it: `state`, `owner`, and whether what it was admitted on is still current."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(dir=memory_folder())
        fresh(Path(self.folder.name)).close()
        self.world = World(Path(self.folder.name), names=(NAME,))
        with Store.open(self.world.url) as store:
            store.register([self.world.node(NAME)])
        self.state, self.owner, self.proven = State.REGISTERED, "", False

    @rule()
    def drifts(self) -> None:
        self.world.bad = {NAME: {"kernel"}}

    @rule(fails=st.booleans())
    def gate(self, fails: bool) -> None:
        self.world.gate_fails = {NAME} if fails else set()

    @rule(digest=st.sampled_from(["d1", "d2"]), fails=st.booleans())
    def is_looked_at(self, digest: str, fails: bool) -> None:
        self.world.looked_at(digest=digest, fails=fails)

    @rule(
        include=st.booleans(),
        seen_before=st.sampled_from(["", "validate", "provision kernel", "burn_in"]),
        digest=st.sampled_from(["d1", "d2"]),
    )
    def provision(self, include: bool, seen_before: str, digest: str) -> None:
        self.world.once_before(seen_before, lambda: self.world.looked_at(digest=digest, fails=True))
        bad = bool(self.world.bad.get(NAME))
        self.world.run(NAME, force=True, retest=True, include_drained=include)
        unchanged = self.state in ABSENT or (self.owner and not include) or (self.state is State.ADMITTED and not bad and self.proven)
        if not unchanged:
            self.proven = not self.world.gate_fails
            self.state, self.owner = State.ADMITTED if self.proven else State.QUARANTINED, ""

    @rule(to=st.sampled_from([State.DRAINED, State.MAINTENANCE, State.QUARANTINED, State.RMA, State.RETIRED]), person=PERSONS)
    def drain(self, to: State, person: str) -> None:
        with Store.open(self.world.url) as store:
            pool = LocalPool.create(store)
            (move,) = drain(store, pool, store.nodes(), operator="x", reason="why", force=True, to=to, owner=person)
        already = self.state is to and (self.owner or not person)
        expected = MoveOutcome.ALREADY if already else MoveOutcome.MOVED if to in LEGAL[self.state] else MoveOutcome.REFUSED
        assert move.outcome is expected
        if expected is MoveOutcome.MOVED:
            someone = "x" if to is State.MAINTENANCE else ""
            self.state, self.owner, self.proven = to, person or self.owner or someone, self.proven and to is State.DRAINED

    @rule()
    def release(self) -> None:
        with Store.open(self.world.url) as store:
            (move,) = release(store, store.nodes(), operator="x", reason="why")
        assert (move.outcome is MoveOutcome.MOVED) is (self.state in RELEASABLE)
        if self.state in RELEASABLE:
            self.state, self.owner, self.proven = State.REGISTERED, "", False

    @rule()
    def withdraw(self) -> None:
        with Store.open(self.world.url) as store:
            withdraw(store, LocalPool.create(store), [NAME], operator="x", reason="gone")
        if self.state not in ABSENT:
            self.state, self.owner, self.proven = State.REGISTERED, "", False

    @rule(include=st.booleans())
    def admit(self, include: bool) -> None:
        (admission,) = self.world.admit(include_owned=include)
        may = (
            self.proven
            and not self.world.bad.get(NAME)
            and (self.state is State.ADMITTED or (self.state is State.DRAINED and (include or not self.owner)))
        )
        assert admission.verdict.admit is may
        if may:
            self.state, self.owner = State.ADMITTED, ""

    @property
    def record(self) -> NodeRecord:
        with Store.open(self.world.url) as store:
            return store.nodes()[0]

    @invariant()
    def it_is_where_the_model_says(self) -> None:
        assert (self.record.state, self.record.owner) == (self.state, self.owner)

    @invariant()
    def it_is_in_the_pool_only_if_admitted_and_free(self) -> None:
        assert (NAME in self.world.members()) is (self.state is State.ADMITTED)
        assert not (self.owner and self.state not in OWNABLE)

    @invariant()
    def maintenance_is_somebodys(self) -> None:
        assert self.state is not State.MAINTENANCE or self.record.owner

    @invariant()
    def the_rack_serves_only_with_the_node(self) -> None:
        conditions = {State.ADMITTED: RackCondition.IN_SERVICE, State.MAINTENANCE: RackCondition.MAINTENANCE}
        (rack,) = overview(self.world.url, "all").racks
        assert rack.condition is conditions.get(self.state, RackCondition.OUT_OF_SERVICE)

    @invariant()
    def nothing_is_held(self) -> None:
        with Store.open(self.world.url) as store:
            assert store.leases() == ()
            assert store.unfinished_runs() == ()

    def teardown(self) -> None:
        self.folder.cleanup()


TestLifecycleModel = Lifecycle.TestCase
TestLifecycleModel.settings = settings(max_examples=25, stateful_step_count=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
