"""The end of a shard as its process records it: a verdict or a refusal ends it, what passes does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.config import Config, read_config
from clusterctl.adapters.content_digest import content_digest
from clusterctl.adapters.store import Store
from clusterctl.model.errors import (
    BreakerError,
    ClusterctlError,
    ConfigError,
    ContentDiffersError,
    InterruptedRunError,
    LeaseHeldError,
    OutsideWindowError,
    PoolUnreachableError,
    StaleTokenError,
    StoreError,
)
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.provision import NodeResult, ProvisionOptions, ProvisionResult
from clusterctl.model.shard import Shard, ShardKind, ShardState
from clusterctl.model.state import State
from clusterctl.workflows.provision.request import ProgressListener, ProvisionRequest
from clusterctl.workflows.queue import provision_shard as module
from clusterctl.workflows.queue.measure_across import AcrossResult

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LISTENER = ProgressListener(lambda _progress: None, lambda _text: None, lambda _plan: True)
HELD = {"node": "n1", "holder": "bob", "run_id": "r", "since": "s", "expires": "e"}
Seen = list[tuple[Config, ProvisionRequest]]


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clusterctl.yml").write_text("inventory: [hosts.yml]\nstate_dir: state\noperator: worker\n")
    (tmp_path / "hosts.yml").write_text("all: {hosts: {n1: {}}}\n")
    return read_config()


@pytest.fixture
def shard(config: Config) -> Shard:
    with Store.open(config.store_url) as store:
        options = ProvisionOptions(level="quick", roles=("kernel",)).to_json()
        queued = store.queue_shards([Shard("order-1", "", "r12", ("n1", "n2"), content_digest(config), "ada", options)])
        found = store.take_shard(queued[0].id, "w1")
    assert found is not None
    return found


def now(config: Config, shard: Shard) -> Shard:
    with Store.open(config.store_url) as store:
        found = store.shard(shard.id)
    assert found is not None
    return found


def running(monkeypatch: pytest.MonkeyPatch, end: Callable[[], ProvisionResult]) -> Seen:
    seen: Seen = []

    def run(config: Config, request: ProvisionRequest, _listener: ProgressListener) -> ProvisionResult:
        seen.append((config, request))
        return end()

    monkeypatch.setattr(module, "run_provision", run)
    return seen


def failing(error: ClusterctlError) -> Callable[[], ProvisionResult]:
    def end() -> ProvisionResult:
        raise error

    return end


def test_the_run_is_that_of_the_order_under_the_fence(config: Config, shard: Shard, monkeypatch: pytest.MonkeyPatch) -> None:
    result = ProvisionResult("run-1", (NodeResult("n1", State.QUARANTINED, ExitCode.GATE_FAILED),), 1.0)
    seen = running(monkeypatch, lambda: result)
    assert module.provision_shard(config, shard.fence, ("site@file",), LISTENER) is ExitCode.GATE_FAILED
    ((given, request),) = seen
    assert given.operator == "ada"
    assert (request.target, request.fence, request.vault_ids) == ("n1,n2", shard.fence, ("site@file",))
    assert (request.options.level, request.options.roles) == ("quick", ("kernel",))
    ended = now(config, shard)
    assert (ended.state, ended.exit_code, ended.run_id) == (ShardState.DONE, 7, "run-1")


def test_a_refused_run_ends_it(config: Config, shard: Shard, monkeypatch: pytest.MonkeyPatch) -> None:
    running(monkeypatch, failing(ConfigError(detail="the inventory is wrong", hint="")))
    with pytest.raises(ConfigError):
        module.provision_shard(config, shard.fence, (), LISTENER)
    ended = now(config, shard)
    assert (ended.state, ended.exit_code) == (ShardState.FAILED, int(ConfigError.exit_code))
    assert ended.detail == "the inventory is wrong"


@pytest.mark.parametrize(
    "error",
    [
        StoreError(path="db", detail="gone", hint=""),
        InterruptedRunError(detail="Ctrl-C", hint=""),
        StaleTokenError(shard_id=1, token=1, newest=2),
    ],
    ids=["store", "interrupted", "stale"],
)
def test_what_passes_leaves_it_as_it_is(error: ClusterctlError, config: Config, shard: Shard, monkeypatch: pytest.MonkeyPatch) -> None:
    running(monkeypatch, failing(error))
    with pytest.raises(type(error)):
        module.provision_shard(config, shard.fence, (), LISTENER)
    assert now(config, shard) == shard


WAITS = (
    LeaseHeldError(**HELD),
    BreakerError(detail="too many are out", hint=""),
    OutsideWindowError(detail="no window is open", hint=""),
    PoolUnreachableError(detail="slurmctld does not answer", hint=""),
)


@pytest.mark.parametrize("error", WAITS, ids=["lease", "breaker", "window", "scheduler"])
def test_nodes_that_cannot_be_worked_on_now_are_waited_for(
    error: ClusterctlError, config: Config, shard: Shard, monkeypatch: pytest.MonkeyPatch
) -> None:
    running(monkeypatch, failing(error))
    with pytest.raises(type(error)):
        module.provision_shard(config, shard.fence, (), LISTENER)
    waiting = now(config, shard)
    assert (waiting.state, waiting.failures) == (ShardState.QUEUED, 0)
    assert waiting.detail == str(error)


def test_other_content_runs_nothing(config: Config, shard: Shard, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = running(monkeypatch, failing(StoreError(path="db", detail="gone", hint="")))
    (config.root / "hosts.yml").write_text("all: {hosts: {n1: {}, n2: {}}}\n")
    with pytest.raises(ContentDiffersError):
        module.provision_shard(config, shard.fence, (), LISTENER)
    assert not seen
    assert now(config, shard).state is ShardState.RUNNING


def test_what_is_across_racks_is_measured_and_not_provisioned(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(config.store_url) as store:
        given = Shard("order-1", "", "", ("n1", "n2"), content_digest(config), "ada", {"level": "full"}, ShardKind.ACROSS)
        found = store.take_shard(store.queue_shards([given])[0].id, "w1")
    assert found is not None
    seen = running(monkeypatch, failing(StoreError(path="db", detail="gone", hint="")))
    monkeypatch.setattr(module, "measure_across", lambda *_given: AcrossResult(ExitCode.GATE_FAILED, "run-2", "left out: n9 run jobs"))
    assert module.provision_shard(config, found.fence, (), LISTENER) is ExitCode.GATE_FAILED
    assert not seen
    ended = now(config, found)
    assert (ended.state, ended.exit_code, ended.run_id, ended.detail) == (ShardState.DONE, 7, "run-2", "left out: n9 run jobs")


def test_a_shard_that_another_worker_has_runs_nothing(config: Config, shard: Shard, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = running(monkeypatch, failing(StoreError(path="db", detail="gone", hint="")))
    with Store.open(config.store_url) as store:
        store.take_shard(shard.id, "w2")
    with pytest.raises(StaleTokenError):
        module.provision_shard(config, shard.fence, (), LISTENER)
    assert not seen
