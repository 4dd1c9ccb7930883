"""Whatever answers a scheduler loses: a node is in the pool only if it is admitted, or in doubt; and the next command ends the doubt."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.store import Store
from clusterctl.model.errors import ClusterctlError, PoolError
from clusterctl.model.state import State
from clusterctl.workflows.drain import drain, release
from clusterctl.workflows.reconcile import reconcile
from support.lossy_pool import FAULTS, LossyPool
from support.memory_folder import memory_folder
from support.provisioning import World
from support.stores import fresh

NAME = "r12-n01"
LOST = st.lists(st.sampled_from(FAULTS), max_size=8)


class LostAnswers(RuleBasedStateMachine):
    """One node, the real workflows, and a pool that does to each call what hypothesis chose."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(dir=memory_folder())
        self.store = fresh(Path(self.folder.name))
        self.pool = LossyPool(self.store)
        self.world = World(Path(self.folder.name), names=(NAME,), pool=self.pool)
        self.store.register([self.world.node(NAME)])

    @rule()
    def drifts(self) -> None:
        self.world.bad = {NAME: {"kernel"}}

    @rule(faults=LOST, gate=st.booleans())
    def provision(self, faults: list[str], gate: bool) -> None:
        self.world.gate_fails = {NAME} if gate else set()
        self.pool.now(faults)
        with contextlib.suppress(ClusterctlError):
            self.world.run(force=True, retest=True, include_drained=True)

    @rule(faults=LOST)
    def admit(self, faults: list[str]) -> None:
        self.pool.now(faults)
        (admission,) = self.world.admit(include_owned=True)
        if admission.verdict.admit:
            assert NAME in self.members

    @rule(faults=LOST)
    def drain(self, faults: list[str]) -> None:
        self.pool.now(faults)
        try:
            drain(self.store, self.pool, self.store.nodes(), operator="x", reason="why", force=True)
        except PoolError:
            return
        assert self.state is not State.DRAINED or NAME not in self.members

    @rule()
    def release(self) -> None:
        release(self.store, self.store.nodes(), operator="x", reason="why")

    @rule()
    def the_next_command_settles_it(self) -> None:
        self.pool.now(())
        assert reconcile(self.store, self.pool, "x") == ()
        assert self.store.pool_doubts() == ()
        assert NAME not in self.members or self.state is State.ADMITTED

    @property
    def state(self) -> State:
        return self.store.nodes()[0].state

    @property
    def members(self) -> frozenset[str]:
        return LocalPool.members(self.pool)

    @invariant()
    def no_bad_node_is_in(self) -> None:
        assert NAME not in self.members or self.state is State.ADMITTED or [d.node for d in self.store.pool_doubts()] == [NAME]

    @invariant()
    def nothing_is_held(self) -> None:
        with Store.open(self.world.url) as store:
            assert store.leases() == ()

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()


def test_a_drain_that_settles_no_doubt_does_not_say_that_the_node_is_drained() -> None:
    state = LostAnswers()
    state.provision(faults=["none", "none", "none", "lost before", "lost before"], gate=False)
    state.drain(faults=["lost before"])
    state.no_bad_node_is_in()
    state.teardown()


TestLostAnswers = LostAnswers.TestCase
TestLostAnswers.settings = settings(max_examples=25, stateful_step_count=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
