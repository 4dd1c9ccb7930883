"""A rack that drifted as a whole is healed, and a heal that was stopped is gone on with by the next one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.config import Config
from clusterctl.adapters.run_directory import RunDir
from clusterctl.adapters.store import Store
from clusterctl.core.drift.policy import Decisions
from clusterctl.model.drift import Deviation, DriftKind, DriftReport, Lost
from clusterctl.model.findings import NodeStatus
from clusterctl.model.state import State
from clusterctl.workflows.drift.check_drift import DriftRun
from clusterctl.workflows.provision.request import ProvisionRequest
from clusterctl.workflows.provision.resume import save_request
from clusterctl.workflows.remediate import Healing, heal, plan_healing, stand_ins_of
from clusterctl_validators.finding import Severity
from support.stores import DIGEST, a_node, a_run, bring, burn_in, fresh

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clusterctl.model.provision import ProvisionResult

NAMES = ("r12-n01", "r12-n02", "r12-n03")
N1, N2, N3 = NAMES


def drifted(node: str, check: str = "kernel.packages.running") -> Deviation:
    return Deviation(node, check, "kernel", DriftKind.DRIFT, Severity.MAJOR, "1", "0", "")


@dataclass
class Site:
    """Three admitted nodes; `heal_ends` is how an earlier heal left the first."""

    folder: Path

    @property
    def config(self) -> Config:
        return Config(root=self.folder, inventory=(), state_dir=self.folder, operator="ada")

    def store(self) -> Store:
        return Store.open(self.config.store_url)

    def heal_left(self, *states: State, healing: bool = True) -> RunDir:
        rundir = RunDir.create(self.folder, "provision")
        save_request(rundir, ProvisionRequest(N1, healing=healing), N1)
        with self.store() as store:
            store.start_run(a_run(rundir.id, str(rundir.path)), [N1])
            for state in states:
                store.transition(N1, state, run_id=rundir.id, operator="ada", spec_digest=DIGEST)
        return rundir

    def planned(self, *deviations: Deviation, lost: Sequence[str] = (), digest: str = DIGEST) -> Healing:
        nodes = tuple(a_node(n, slot=i, digest=digest) for i, n in enumerate(NAMES))
        silent = tuple(Lost(n, NodeStatus.UNREACHABLE, "no route") for n in lost)
        report = DriftReport(NAMES, deviations, silent)
        decided = Decisions((), tuple(dict.fromkeys(d.node for d in deviations)), {})
        return plan_healing(DriftRun(report, (), {}, decided, self.folder, nodes, 0.0), self.config)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    with fresh(tmp_path) as store:
        store.register([a_node(name, slot=i) for i, name in enumerate(NAMES)])
        store.start_run(a_run())
        for name in NAMES:
            burn_in(store, a_run(), name)
            bring(store, name, State.ADMITTED)
    return Site(tmp_path)


def test_where_all_nodes_drifted_the_canary_is_measured_with_others_that_did(site: Site) -> None:
    planned = site.planned(*map(drifted, NAMES))
    assert (planned.names, planned.partners, planned.stand_ins) == (NAMES, (), (N2, N3))


def test_nodes_with_a_deviation_of_their_own_stand_in_last(site: Site) -> None:
    planned = site.planned(drifted(N1), drifted(N2), drifted(N2, "kernel.cmdline.running"), drifted(N3))
    assert planned.stand_ins == (N3, N2)


def test_a_node_that_is_good_is_the_better_partner(site: Site) -> None:
    planned = site.planned(drifted(N1), drifted(N2))
    calls: list[tuple[Sequence[str], Sequence[str]]] = []

    def provision(names: Sequence[str], partners: Sequence[str]) -> ProvisionResult:
        calls.append((names, partners))
        raise KeyError

    with pytest.raises(KeyError):
        heal(planned.names, planned.partners, provision, planned.stand_ins)
    assert calls == [((N1,), (N3,))]


@pytest.mark.parametrize(
    "states",
    [
        (State.DRAINED,),
        (State.DRAINED, State.PROVISIONING),
        (State.DRAINED, State.PROVISIONING, State.PROVISIONED),
        (State.DRAINED, State.PROVISIONING, State.PROVISIONED, State.VALIDATED),
    ],
)
def test_an_unfinished_heal_is_gone_on_with_and_comes_first(site: Site, states: tuple[State, ...]) -> None:
    site.heal_left(*states)
    assert site.planned().names == (N1,)
    assert site.planned(drifted(N2)).names == (N1, N2)
    assert site.planned(drifted(N2), drifted(N3)).stand_ins == (N2, N3)


def test_what_a_person_left_is_not_a_heal(site: Site) -> None:
    site.heal_left(State.DRAINED, State.PROVISIONING, healing=False)
    assert site.planned().names == ()


@pytest.mark.parametrize("text", ["[1]", "{", "{}"])
def test_a_request_that_cannot_be_read_is_not_a_heal(site: Site, text: str) -> None:
    site.heal_left(State.DRAINED).write_text("request.json", text)
    assert site.planned().names == ()


def test_what_failed_or_somebody_took_is_left_to_a_person(site: Site) -> None:
    site.heal_left(State.DRAINED, State.PROVISIONING, State.QUARANTINED)
    assert site.planned().names == ()
    with site.store() as store:
        store.transition(N1, State.DRAINED, run_id="", operator="bob", owner="bob")
    assert site.planned().names == ()


def test_a_heal_in_progress_is_not_unfinished(site: Site) -> None:
    rundir = site.heal_left(State.DRAINED, State.PROVISIONING)
    with site.store() as store:
        store.acquire([N1], run_id=rundir.id, holder="ada")
    assert site.planned().names == ()


def test_a_node_that_is_silent_or_declared_anew_is_left_and_named(site: Site) -> None:
    site.heal_left(State.DRAINED, State.PROVISIONING)
    silent = site.planned(drifted(N2), lost=[N1])
    assert silent.names == (N2,)
    assert "no route" in silent.left[N1]
    assert "declared state changed" in site.planned(digest="e" * 64).left[N1]


def test_a_node_never_stands_in_for_itself() -> None:
    assert stand_ins_of(DriftReport((N1,), (drifted(N1),), ()), (N1,), N1) == ()
