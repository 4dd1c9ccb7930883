from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.config import Config
from clusterctl.adapters.store import Store
from clusterctl.model.errors import BreakerError, ClusterctlError, InterruptedRunError, LeaseHeldError, OutsideWindowError, PoolError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.provision import NodeResult, ProvisionResult
from clusterctl.model.state import State
from clusterctl.workflows import remediate
from clusterctl.workflows.drift.check_drift import Healed
from clusterctl.workflows.provision.request import ProgressListener
from clusterctl.workflows.remediate import heal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Provision:
    """A provisioning that remembers whom it was asked for; nodes in `bad` end in quarantine."""

    def __init__(self, *bad: str) -> None:
        self.bad = bad
        self.calls: list[tuple[tuple[str, ...], tuple[str, ...]]] = []

    def __call__(self, names: Sequence[str], partners: Sequence[str]) -> ProvisionResult:
        self.calls.append((tuple(names), tuple(partners)))
        return ProvisionResult("run-2", tuple(map(self.one, names)), 1.0)

    def one(self, name: str) -> NodeResult:
        if name in self.bad:
            return NodeResult(name, State.QUARANTINED, ExitCode.GATE_FAILED, "rdma_pair failed")
        return NodeResult(name, State.ADMITTED, ExitCode.OK)


def said(healed: Healed) -> list[tuple[str, str]]:
    return [(a["node"], a["action"]) for a in healed.actions]


def test_one_node_first_then_the_others() -> None:
    provision = Provision()
    healed = heal(("n1", "n2", "n3"), ("n9",), provision)
    assert provision.calls == [(("n1",), ("n9",)), (("n2", "n3"), ("n9",))]
    assert healed.code is ExitCode.OK
    assert said(healed) == [("n1", "healed"), ("n2", "healed"), ("n3", "healed")]


def test_a_canary_that_fails_saves_the_others() -> None:
    provision = Provision("n1")
    healed = heal(("n1", "n2"), (), provision)
    assert provision.calls == [(("n1",), ())]
    assert healed.code is ExitCode.GATE_FAILED
    assert said(healed) == [("n1", "not healed"), ("n2", "left")]
    assert "canary n1" in healed.actions[1]["detail"]
    assert healed.names == {"n1"}


def test_a_later_node_that_fails_is_told() -> None:
    healed = heal(("n1", "n2", "n3"), (), Provision("n3"))
    assert healed.code is ExitCode.GATE_FAILED
    assert [a["action"] for a in healed.actions] == ["healed", "healed", "not healed"]


def test_without_partners_the_healed_canary_is_one() -> None:
    provision = Provision()
    heal(("n1", "n2"), (), provision)
    assert provision.calls[1] == (("n2",), ("n1",))


def test_nobody_to_heal_touches_nobody() -> None:
    provision = Provision()
    assert heal((), (), provision) == Healed((), ExitCode.OK)
    assert provision.calls == []


def test_a_run_that_left_the_canary_out_proves_nothing() -> None:
    def nothing(_names: Sequence[str], _partners: Sequence[str]) -> ProvisionResult:
        return ProvisionResult("run-2", (), 1.0)

    assert heal(("n1", "n2"), (), nothing).code is ExitCode.UNEXPECTED


@pytest.mark.parametrize(
    "error", [BreakerError(detail="too many", hint="wait"), LeaseHeldError(node="n2", holder="bob", run_id="r", since="", expires="")]
)
def test_a_round_that_is_refused_is_told_and_touches_nobody(error: ClusterctlError) -> None:
    provision = Provision()

    def refuse_the_rest(names: Sequence[str], partners: Sequence[str]) -> ProvisionResult:
        if names != ("n1",):
            raise error
        return provision(names, partners)

    healed = heal(("n1", "n2", "n3"), (), refuse_the_rest)
    assert said(healed) == [("n1", "healed"), ("n2", "left"), ("n3", "left")]
    assert healed.code is ExitCode.CONFIG
    assert healed.names == {"n1"}
    assert healed.actions[1]["detail"] == str(error)


def test_a_pool_that_fails_halfway_is_no_refusal() -> None:
    def fail(_names: Sequence[str], _partners: Sequence[str]) -> ProvisionResult:
        raise PoolError(detail="the scheduler does not answer", hint="look there")

    with pytest.raises(PoolError, match="does not answer"):
        heal(("n1",), (), fail)


def test_an_interruption_is_no_refusal() -> None:
    def stop(_names: Sequence[str], _partners: Sequence[str]) -> ProvisionResult:
        raise InterruptedRunError(detail="stopped", hint="")

    with pytest.raises(InterruptedRunError):
        heal(("n1",), (), stop)


def test_healing_that_trips_the_breaker_opens_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_words: object) -> ProvisionResult:
        raise BreakerError(detail="provisioning 3 of 4 pool members", hint="")

    monkeypatch.setattr(remediate, "run_provision", refuse)
    config = Config(root=tmp_path, inventory=(), state_dir=tmp_path, operator="ada")
    listener = ProgressListener(lambda _p: None, lambda _t: None, lambda _p: True)
    assert said(heal(("n1",), (), remediate.provisioner(config, (), listener))) == [("n1", "left")]
    with Store.open(config.store_url) as store:
        assert [e.reason for e in store.breaker_events(9)] == ["drift --heal: provisioning 3 of 4 pool members"]


def test_healing_waits_for_a_maintenance_window() -> None:
    def closed(_names: Sequence[str], _partners: Sequence[str]) -> ProvisionResult:
        raise OutsideWindowError(detail="no maintenance window is open", hint="wait")

    healed = heal(("n1", "n2"), (), closed)
    assert said(healed) == [("n1", "left"), ("n2", "left")]
    assert healed.code is ExitCode.CHANGES_PENDING
