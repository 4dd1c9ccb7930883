"""What fails on a node for a cause above it takes the node out of the pool, and is not held against it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.config import Config
from clusterctl.adapters.store import Store
from clusterctl.adapters.validators import ValidationSettings
from clusterctl.core.drift.policy import parse_policy
from clusterctl.model.findings import NodeStatus
from clusterctl.model.repair import Component
from clusterctl.model.state import State
from clusterctl.model.verdict import ReasonKind
from clusterctl.workflows.drift import check_drift as drift_run
from clusterctl.workflows.drift.check_drift import DriftOptions
from clusterctl.workflows.lemons import worst_serials
from clusterctl_validators.finding import Finding, Outcome, Severity
from support.provisioning import World
from support.stores import findings
from support.troubles import DEFAULT_LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from clusterctl.model.findings import NodeFindings
    from clusterctl.workflows.run import Run

N1 = "r12-n01"
CAUSE = "nvlink_domain.rack.switch_trays"
BEHIND = Finding("hardware.gpu[0].nvlinks", "hardware", Outcome.FAIL, Severity.CRITICAL, "18", "16, down: 4, 5", above=CAUSE)
NAMED = Finding(CAUSE, "nvlink_domain", Outcome.FAIL, Severity.CRITICAL, "none", "16, down: 4, 5", above=CAUSE)
OWN = Finding("hardware.gpu[3].ecc", "hardware", Outcome.FAIL, Severity.MAJOR, "0", "7")


@pytest.mark.parametrize(
    ("found", "cause", "component", "exclusions"),
    [
        ((BEHIND, NAMED), ReasonKind.CHECK_SHARED, Component.NVSWITCH, 0),
        ((BEHIND, NAMED, OWN), ReasonKind.CHECK_FAILED, Component.GPU, 1),
        ((OWN,), ReasonKind.CHECK_FAILED, Component.GPU, 1),
    ],
)
def test_only_a_fault_of_its_own_is_an_exclusion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: tuple[Finding, ...], cause: ReasonKind, component: Component, exclusions: int
) -> None:
    world = World(tmp_path, names=(N1,))
    world.run()

    def answer(run: Run, _n: object, _c: object, _s: object, on_result: Callable[[NodeFindings], None], **_: object) -> None:
        run.store.save_findings(run.rundir.id, findings(*found, node=N1))
        on_result(findings(*found, node=N1))

    monkeypatch.setattr(drift_run, "record_each", answer)
    config = Config(root=tmp_path, inventory=(), state_dir=tmp_path, operator="ada")
    drift_run.check_drift(config, [world.node(N1)], DriftOptions("r12", parse_policy("critical=drain,major=drain")), ValidationSettings())
    with Store.open(world.url) as store:
        last = store.history(N1)[-1]
        assert (last.to_state, last.cause, last.component) == (State.DRAINED, cause, component)
        assert sum(r.days_90.exclusions for r in worst_serials(store, DEFAULT_LIMITS) if r.kind == "node") == exclusions


def test_the_check_that_names_the_cause_is_stored(tmp_path: Path) -> None:
    world = World(tmp_path, names=(N1,))
    world.run()
    with Store.open(world.url) as store:
        run_id = store.history(N1)[-1].run_id
        store.save_findings(run_id, findings(BEHIND, OWN, node=N1))
        stored = store.findings(N1)
    assert stored
    assert {f.check: f.above for f in stored.findings} == {BEHIND.check: CAUSE, OWN.check: ""}
    assert stored.status is NodeStatus.OK
