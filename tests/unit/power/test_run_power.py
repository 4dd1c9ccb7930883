"""The verb's workflow: who is refused, what is recorded. BMCs and SSH are fakes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl import main
from clusterctl.adapters.bmc.access import BmcAccess
from clusterctl.adapters.config import Config
from clusterctl.adapters.store import Store
from clusterctl.model.errors import IllegalTransitionError, JobsRunError, LeaseHeldError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.node import Place
from clusterctl.model.power import Boot, PowerAction, PowerOutcome
from clusterctl.model.state import State
from clusterctl.workflows.power import run_power as power_run
from clusterctl.workflows.power.switch import PowerLimits
from support.busy_pool import BusyPool
from support.provisioning import node
from support.redfish_bmc import PASSWORD, USER, Bmc
from support.redfish_tree import invented

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.ssh.ssh import SshClient
    from clusterctl.model.node import Connection, Node

NAMES = ("r12-n01", "r12-n02")
QUICK = PowerLimits(off_s=1, back_s=1, pause_s=0, poll_s=0.01, budget="1")


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(tmp_path, (), tmp_path, operator="ada")


@pytest.fixture
def bmc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """One fake BMC for all nodes; SSH answers with a boot per reset."""
    tree = invented()
    tree["/redfish/v1/Systems/Node.1"] |= {"PowerState": "On", "SerialNumber": "S1"}
    with Bmc(tree, tmp_path) as running:
        access = {"url": running.url, "user": USER, "password": PASSWORD, "ca_file": str(running.ca_file)}

        def load(_layers: object, names: list[str], **_more: object) -> dict[str, BmcAccess]:
            return {n: BmcAccess(n, problem="bmc_url not set" if n == "r12-n09" else "", **access) for n in names}

        async def read(_client: SshClient, _connection: Connection, _limit_s: float) -> Boot:
            return Boot(f"boot-{len(running.resets)}", 30.0)

        monkeypatch.setattr(power_run, "load_bmcs", load)
        monkeypatch.setattr(power_run, "read_boot", read)
        yield running


def run(
    config: Config, action: PowerAction, *nodes: Node, state: State | None = State.DRAINED, force: bool = False
) -> tuple[str, list[Any]]:
    with Store.open(config.store_url) as store:
        store.register(nodes)
        for one in nodes:
            if state:
                store.transition(one.name, state, run_id="", operator="ada", reason="for the test")
        limits = replace(QUICK, force=force)
        run_id, reports = power_run.run_power(config, store, nodes, action, limits, target="rack-12", ended=lambda _r: None)
    return run_id, list(reports)


def test_a_cycle_is_recorded(config: Config, bmc: Bmc) -> None:
    run_id, reports = run(config, PowerAction.CYCLE, *map(node, NAMES))
    assert [(r.node, r.outcome, r.power, r.serial) for r in reports] == [(n, PowerOutcome.DONE, "on", "S1") for n in NAMES]
    assert bmc.resets == ["GracefulShutdown", "On"] * 2
    with Store.open(config.store_url) as store:
        row = store.run(run_id)
        assert (row.verb, row.target, row.operator, row.exit_code) == ("power", "cycle rack-12", "ada", 0)
        assert [(n.node, n.phase, n.outcome) for n in store.run_nodes(run_id)] == [(n, "done", "done") for n in NAMES]
        assert {n.state for n in store.nodes()} == {State.DRAINED}
        assert store.leases() == ()


def test_a_bmc_that_cannot_be_asked_is_unreachable(config: Config, bmc: Bmc) -> None:
    lost = replace(node("r12-n09"), place=Place(rack="r12", slot=9))
    run_id, reports = run(config, PowerAction.OFF, node(NAMES[0]), lost)
    assert [(r.node, r.outcome.value, r.detail) for r in reports] == [
        (NAMES[0], "done", ""),
        ("r12-n09", "failed", "its BMC: bmc_url not set"),
    ]
    with Store.open(config.store_url) as store:
        assert store.run(run_id).exit_code == ExitCode.UNREACHABLE


@pytest.mark.parametrize("action", list(PowerAction))
@pytest.mark.parametrize("state", [None, State.PROVISIONING, State.RMA])
def test_only_drained_nodes_are_switched(config: Config, bmc: Bmc, action: PowerAction, state: State | None) -> None:
    with pytest.raises(IllegalTransitionError) as refused:
        run(config, action, node(NAMES[0]), state=state)
    assert refused.value.exit_code is ExitCode.USAGE
    current = (state or State.REGISTERED).value
    assert f"r12-n01 is {current}: it cannot be {power_run._PARTICIPLES[action]}" in str(refused.value)
    assert ("clusterctl release" if state is State.RMA else "clusterctl drain r12-n01 --reason") in refused.value.hint
    assert bmc.requests == []


def jobs_of(monkeypatch: pytest.MonkeyPatch, jobs: dict[str, str], *, silent: bool = False) -> None:
    """The site has a pool with these jobs."""
    monkeypatch.setattr(power_run, "load_pool", lambda _declared, store: BusyPool(store, jobs, silent=silent))


GOES_DOWN = (PowerAction.OFF, PowerAction.CYCLE, PowerAction.REBOOT)


@pytest.mark.parametrize("action", GOES_DOWN)
@pytest.mark.parametrize("state", [State.DRAINED, State.MAINTENANCE, State.QUARANTINED])
def test_no_job_is_killed(config: Config, bmc: Bmc, monkeypatch: pytest.MonkeyPatch, action: PowerAction, state: State) -> None:
    jobs_of(monkeypatch, {NAMES[1]: "job 17 of eve", "r12-n09": "job 18 of bob"})
    with pytest.raises(JobsRunError) as refused:
        run(config, action, *map(node, NAMES), state=state)
    assert refused.value.exit_code is ExitCode.USAGE
    assert str(refused.value) == f"nodes on which jobs still run are not {power_run._PARTICIPLES[action]}: r12-n02: job 17 of eve"
    assert "wait" in refused.value.hint
    assert "--force" in refused.value.hint
    assert bmc.requests == []
    with Store.open(config.store_url) as store:
        assert store.leases() == ()


@pytest.mark.parametrize("action", GOES_DOWN)
def test_a_pool_that_does_not_answer_may_have_jobs(config: Config, bmc: Bmc, monkeypatch: pytest.MonkeyPatch, action: PowerAction) -> None:
    jobs_of(monkeypatch, {}, silent=True)
    with pytest.raises(JobsRunError, match="not known what runs there: slurmctld does not answer") as refused:
        run(config, action, node(NAMES[0]))
    assert refused.value.exit_code is ExitCode.USAGE
    assert refused.value.hint.startswith("`scontrol ping`")
    assert "--force" in refused.value.hint
    assert bmc.requests == []


@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize(
    ("action", "resets"),
    [(PowerAction.OFF, ["ForceOff"]), (PowerAction.CYCLE, ["ForceOff", "On"]), (PowerAction.REBOOT, ["ForceRestart"])],
)
def test_force_does_not_ask_the_pool(
    config: Config, bmc: Bmc, monkeypatch: pytest.MonkeyPatch, silent: bool, action: PowerAction, resets: list[str]
) -> None:
    jobs_of(monkeypatch, {NAMES[0]: "job 17 of eve"}, silent=silent)
    _, (report,) = run(config, action, node(NAMES[0]), force=True)
    assert (report.outcome, bmc.resets) == (PowerOutcome.DONE, resets)


def test_switching_on_kills_no_job(config: Config, bmc: Bmc, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs_of(monkeypatch, {NAMES[0]: "job 17 of eve"}, silent=True)
    _, (report,) = run(config, PowerAction.ON, node(NAMES[0]))
    assert report.outcome is PowerOutcome.UNCHANGED


def test_jobs_of_other_nodes_do_not_matter(config: Config, bmc: Bmc, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs_of(monkeypatch, {NAMES[1]: "job 17 of eve"})
    _, (report,) = run(config, PowerAction.OFF, node(NAMES[0]))
    assert report.outcome is PowerOutcome.DONE


def test_a_node_that_a_run_holds_is_not_touched(config: Config, bmc: Bmc) -> None:
    with Store.open(config.store_url) as store:
        store.register([node(NAMES[0])])
        store.acquire([NAMES[0]], run_id="other", holder="bob")
    with pytest.raises(LeaseHeldError):
        run(config, PowerAction.OFF, node(NAMES[0]))
    assert bmc.requests == []


def test_the_verb_refuses_an_unknown_action(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.call(["power", "explode", "r12-n01"]) == ExitCode.USAGE
    assert "'on', 'off', 'cycle', 'ac-cycle', 'reboot'" in capsys.readouterr().err
