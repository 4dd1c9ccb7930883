"""A node on which a check fails that no role can repair leaves the pool before it is quarantined, or keeps the state in which it stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.adapters.store import Store
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.state import State
from support.busy_pool import BusyPool
from support.provisioning import World, node

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.model.node import Node

NAME, OTHER = "r12-n01", "r12-n02"


@dataclass
class WithHardware(World):
    """Nodes with a role that asserts."""

    def node(self, name: str) -> Node:
        return node(name, self.digest, ("hardware", "kernel"))


def test_a_node_on_which_jobs_still_run_is_not_quarantined(tmp_path: Path) -> None:
    world = WithHardware(tmp_path)
    assert world.run(NAME, OTHER).exit_code is ExitCode.OK
    world.bad = {NAME: {"hardware"}, OTHER: {"hardware"}}
    with Store.open(world.url) as store:
        world.pool = BusyPool(store, {NAME: "job 17 of eve"})
        found = {n.node: n for n in world.run(NAME, OTHER, force=True).nodes}
    assert (found[NAME].state, found[NAME].exit_code) == (State.DRAINED, ExitCode.CHANGES_PENDING)
    assert "job 17 of eve" in found[NAME].reason
    assert found[OTHER].state is State.QUARANTINED
    assert world.states() == {NAME: State.DRAINED, OTHER: State.QUARANTINED}

    world.pool = None
    assert {n.node: n.state for n in world.run(NAME, force=True).nodes} == {NAME: State.QUARANTINED}
