"""A link that flaps for days is drained before it dies: marin-community/marin#8934 had five days for it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.adapters import clock
from clusterctl.adapters.config import Config
from clusterctl.adapters.store import Store
from clusterctl.adapters.validators import ValidationSettings
from clusterctl.core.drift.policy import parse_policy
from clusterctl.core.lemons.flaps import flapping_nodes
from clusterctl.model.gate_result import Outcome
from clusterctl.model.state import State
from clusterctl.model.trouble import Trouble, TroubleKind, TroubleSources
from clusterctl.model.verdict import ReasonKind
from clusterctl.workflows.drift import check_drift as drift_run
from clusterctl.workflows.drift.check_drift import DriftOptions
from clusterctl_validators import link_flaps
from clusterctl_validators.finding import Finding, Severity
from support.provisioning import World
from support.stores import findings
from support.troubles import NOW, ago

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import tzinfo
    from pathlib import Path
    from typing import Self

    from clusterctl.model.findings import NodeFindings
    from clusterctl.workflows.run import Run

N1 = "r12-n01"


def flaps(*days: tuple[float, str]) -> TroubleSources:
    return TroubleSources(flaps=[Trouble("n1", TroubleKind.LINK_FLAP, ago(at), "", device) for at, device in days])


@given(st.lists(st.tuples(st.integers(0, 60), st.sampled_from(["mlx5_0", "mlx5_1"]))), st.integers(0, 60), st.integers(0, 4))
def test_days_of_one_link_count_since_the_node_was_admitted(days: list[tuple[float, str]], admitted: int, most: int) -> None:
    expected = any(len({at for at, device in days if device == d and at <= min(admitted, 30)}) >= most for d in ("mlx5_0", "mlx5_1"))
    found = flapping_nodes(flaps(*days), {"n1": ago(admitted)}, most, NOW)
    assert found == (frozenset({"n1"}) if expected and most else frozenset())


@pytest.mark.parametrize(
    ("policy", "check"), [("link_flaps=drain", link_flaps.HCA), ("link_flaps=drain", link_flaps.GPU), ("", link_flaps.GPU)]
)
def test_drift_drains_it_once_and_not_again_after_it_was_repaired(
    tmp_path: Path, policy: str, check: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, names=(N1,))
    world.run()
    assert [night(world, day, policy, check, monkeypatch) for day in range(4)] == [[], [], ["drained"] if policy else [], []]
    assert world.states()[N1] is (State.DRAINED if policy else State.ADMITTED)
    with Store.open(world.url) as store:
        assert (store.history(N1)[-1].cause is ReasonKind.CHECK_FAILED) is bool(policy)
    world.run(N1)
    assert world.states()[N1] is State.ADMITTED
    assert night(world, 5, policy, check, monkeypatch) == []


def night(world: World, day: int, policy: str, check: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The actions of a drift run that many days later, in which a further loss of the link is seen."""

    class Later(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return super().now(tz) + timedelta(days=day)

    monkeypatch.setattr(clock, "datetime", Later)
    loss = Finding(check.format(0), "hardware", Outcome.FAIL, Severity.CRITICAL, "at most 2", f"{day} losses")

    def answer(run: Run, _n: object, _c: object, _s: object, on_result: Callable[[NodeFindings], None], **_: object) -> None:
        run.store.save_findings(run.rundir.id, findings(loss, node=N1))
        on_result(findings(loss, node=N1))

    monkeypatch.setattr(drift_run, "record_each", answer)
    config = Config(root=world.state_dir, inventory=(), state_dir=world.state_dir, operator="ada")
    options = DriftOptions("r12", parse_policy(policy))
    found = drift_run.check_drift(config, [world.node(N1)], options, ValidationSettings())
    return [a["action"] for a in found.body["actions"]]
