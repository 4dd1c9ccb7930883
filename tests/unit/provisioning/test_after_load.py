"""What the load of the burn-in did to a node decides on its admission."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.state import State
from support.provisioning import World

if TYPE_CHECKING:
    from pathlib import Path

N1, N2, N3 = "r12-n01", "r12-n02", "r12-n03"


def test_a_node_is_judged_as_the_load_left_it(tmp_path: Path) -> None:
    world = World(tmp_path, bad={n: {"kernel", "hugepages"} for n in (N1, N2, N3)}, reboot={"kernel"})

    def load(what: str) -> None:
        if what == "burn_in":
            world.bad[N2], world.incurable = {"hugepages"}, {"hugepages"}

    world.before = load
    assert world.run().exit_code is ExitCode.VALIDATOR_FAILED
    assert world.states() == {N1: State.ADMITTED, N2: State.QUARANTINED, N3: State.ADMITTED}
    assert world.members() == {N1, N3}
