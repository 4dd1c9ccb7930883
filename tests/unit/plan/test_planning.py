"""A plan is held against the pool: what the circuit breaker would refuse is told before anybody tries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.config import Config
from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.store import Store
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.gate_result import Outcome
from clusterctl.model.state import State
from clusterctl.workflows import plan as planning
from support.stores import a_finding, a_node, a_run, bring, burn_in, findings

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.model.findings import NodeFindings

NAMES = ("r12-n01", "r12-n02", "r12-n03")
NODES = tuple(a_node(name, slot=i) for i, name in enumerate(NAMES))


@pytest.mark.parametrize(
    ("bad", "refused"),
    [
        (NAMES[:1], ""),
        (NAMES[:2], "provisioning 2 of 3 pool members would take out more than 50 % within 5 min"),
    ],
)
def test_what_the_breaker_would_refuse(bad: tuple[str, ...], refused: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = Config(root=tmp_path, inventory=(), state_dir=tmp_path, operator="ada")
    with Store.open(config.store_url) as store:
        store.register(NODES)
        store.start_run(a_run(), NAMES)
        for name in NAMES:
            burn_in(store, a_run(), name)
            bring(store, name, State.ADMITTED)
            LocalPool.create(store).admit(name, "good")
    said = tuple(findings(a_finding(Outcome.FAIL if n in bad else Outcome.PASS), node=n) for n in NAMES)

    def answer(*_words: object) -> tuple[NodeFindings, ...]:
        return said

    monkeypatch.setattr(planning, "validate_recorded", answer)
    planned = planning.plan_by_validators(config, "rack-12", NODES)
    assert planned.body["refused"] == refused
    assert planned.code is ExitCode.CHANGES_PENDING
    with Store.open(config.store_url) as store:
        assert LocalPool.create(store).members() == set(NAMES), "a plan takes nobody out"
