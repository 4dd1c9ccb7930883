"""A notice of planned maintenance limits nothing: a node whose announced time is now is provisioned as any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters import clock
from clusterctl.adapters.store import Store
from clusterctl.core.timestamps import after
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.notice import Period
from clusterctl.model.state import State
from support.provisioning import World
from support.stores import fresh

if TYPE_CHECKING:
    from pathlib import Path

N1 = "r12-n01"


def test_provision_within_the_announced_time(tmp_path: Path) -> None:
    fresh(tmp_path).close()
    world = World(tmp_path, names=(N1,))
    now = clock.now()
    with Store.open(world.url, lambda: after(now, -120)) as earlier:
        earlier.announce(N1, [N1], Period(after(now, -60), after(now, 3600)), operator="ada", reason="new switch")
    assert world.run().exit_code is ExitCode.OK
    assert world.states() == {N1: State.ADMITTED}
    with Store.open(world.url) as store:
        assert [n.id for n in store.open_notices()] == [1]
