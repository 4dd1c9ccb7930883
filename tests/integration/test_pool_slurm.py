"""The pool `slurm` on a real slurmctld, slurmd and munged of this test, on loopback."""

from __future__ import annotations

import shlex
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters import clock
from clusterctl.adapters.config import Config, PoolDeclaration
from clusterctl.adapters.pools.answering import Answering
from clusterctl.adapters.pools.base import Pool
from clusterctl.adapters.pools.loader import load_pool
from clusterctl.adapters.pools.slurm import SlurmPool
from clusterctl.adapters.pools.vacating import Vacating
from clusterctl.core import timestamps
from clusterctl.core.switch_tree import hostlist
from clusterctl.model.errors import ConfigError, JobsRunError, PoolError, PoolUnreachableError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.power import PowerAction
from clusterctl.model.provision import Note
from clusterctl.model.state import State
from clusterctl.model.verdict import Reason, ReasonKind
from clusterctl.workflows.drain import drain as drain_nodes
from clusterctl.workflows.drain import still_running
from clusterctl.workflows.power.run_power import run_power
from clusterctl.workflows.power.switch import PowerLimits
from support.doc_blocks import blocks_of
from support.provisioning import World, node
from support.roles import ROOT
from support.slurm import ABSENT, DYNAMIC, NODES, Slurm, missing_slurm, running_slurm
from support.stores import fresh

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

MISSING = missing_slurm()
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"missing: {', '.join(MISSING)}; apt-get install slurmctld slurmd slurm-client munge")
N1, N2, N3, N4 = NODES
FOREIGN = "NHC: check_hw_gpu: 7 of 8"


@pytest.fixture(scope="module")
def running() -> Iterator[Slurm]:
    with running_slurm() as slurm:
        yield slurm


@pytest.fixture
def slurm(running: Slurm) -> Slurm:
    running.resume_all()
    return running


def pool_of(slurm: Slurm, tmp_path: Path, **settings: Any) -> SlurmPool:
    """The pool as clusterctl.yml declares it."""
    declared = PoolDeclaration("slurm", {"conf": str(slurm.conf), "wait_minutes": 0, **settings})
    pool = load_pool(declared, fresh(tmp_path))
    assert isinstance(pool, SlurmPool)
    return pool


@pytest.fixture
def pool(slurm: Slurm, tmp_path: Path) -> SlurmPool:
    return pool_of(slurm, tmp_path)


def removed(pool: SlurmPool, moment: str) -> frozenset[str]:
    return pool.removed_since(moment) - {ABSENT}  # Slurm resumes no node that never answered


def is_down(slurm: Slurm, name: str) -> bool:
    return "DOWN" in slurm.state(name)


def test_out_and_in_again(slurm: Slurm, pool: SlurmPool) -> None:
    assert isinstance(pool, Pool)
    assert isinstance(pool, Vacating)
    assert pool.members() == set(NODES)
    assert pool.remove(N1, "provisioning: 2 roles")
    assert not pool.remove(N1, "another reason")
    assert slurm.state(N1) == {"IDLE", "DRAIN"}
    assert slurm.field(N1, "Reason") == "clusterctl: provisioning: 2 roles"
    assert pool.members() == set(NODES) - {N1}
    assert pool.admit(N1, "admitted by ada")
    assert slurm.state(N1) == {"IDLE"}
    assert not pool.admit(N1, "admitted by ada")
    assert slurm.field(N1, "Reason") == ""
    assert pool.members() == set(NODES)


def test_a_reason_is_text(slurm: Slurm, pool: SlurmPool) -> None:
    for reason in ("a\nState=IDLE", "\"quoted\" 'twice'", "Reason=x [root@2026-01-01T00:00:00]", "x" * 3000, "größer = 4,5"):
        assert pool.remove(N1, reason)
        assert slurm.field(N1, "Reason").startswith("clusterctl: ")
        assert removed(pool, "") == {N1}
        slurm.run("scontrol", "update", f"NodeName={N1}", "State=UNDRAIN")


def test_a_mark_says_what_was_found_and_the_node_stays_ours_under_another_leader(slurm: Slurm, tmp_path: Path) -> None:
    found = Reason(ReasonKind.GATE_FAILED, "x", device="mlx5_3", item="rdma_pair")
    pool = pool_of(slurm, tmp_path, reason_leader="[HC]")
    assert pool.remove(N1, "\"quoted\" 'twice' größer = 4,5 " + "x" * 3000)
    assert removed(pool, "") == {N1}
    assert pool.mark(N1, found)
    assert slurm.field(N1, "Reason").startswith(f"[HC] gate.rdma_pair {N1}:mlx5_3 (clusterctl ")
    assert not pool.mark(N1, found)
    assert slurm.state(N1) == {"IDLE", "DRAIN"}
    assert pool_of(slurm, tmp_path, reason_leader="HC:").admit(N1, "admitted by ada")
    slurm.take_out(N1, "[HC] fan 3")
    assert not pool.mark(N1, found)
    assert slurm.field(N1, "Reason") == "[HC] fan 3"


def test_the_page_takes_a_node_back_by_hand(slurm: Slurm, pool: SlurmPool) -> None:
    assert pool.remove(N1, "provisioning")
    (block,) = (b for b in blocks_of(ROOT / "docs/how-to/pools.md") if b.marks.get("runs-in") == "tests/integration/test_pool_slurm.py")
    slurm.run(*shlex.split(block.text))
    assert pool.takes_jobs(N1)


@pytest.mark.parametrize("state", ["DRAIN", "DOWN", "FAIL"])
def test_what_others_took_out_stays_as_it_is(slurm: Slurm, pool: SlurmPool, state: str) -> None:
    slurm.take_out(N1, FOREIGN, state)
    assert pool.members() == set(NODES) - {N1}
    with pytest.raises(PoolError, match="7 of 8") as caught:
        pool.admit(N1, "admitted by ada")
    assert "undoes only what it did" in caught.value.hint
    assert not pool.remove(N1, "provisioning")
    assert slurm.field(N1, "Reason") == FOREIGN
    assert "DRAIN" in slurm.state(N1), "it would return by itself while it is changed"
    assert removed(pool, "") == frozenset()
    with pytest.raises(PoolError, match="somebody else"):
        pool.admit(N1, "admitted by ada")


def test_a_node_that_slurm_does_not_know(pool: SlurmPool) -> None:
    with pytest.raises(PoolError, match="Slurm has no node r99-n01") as caught:
        pool.admit("r99-n01", "admitted by ada")
    assert "slurm.conf" in caught.value.hint
    assert not pool.remove("r99-n01", "provisioning")
    assert pool.vacate(["r99-n01"], lambda _busy: None) == pool.busy(["r99-n01"]) == {}


def test_a_node_without_slurmd_is_not_admitted(slurm: Slurm, tmp_path: Path) -> None:
    pool = pool_of(slurm, tmp_path, answer_s=2)
    with pytest.raises(PoolError, match=f"{ABSENT} does not answer slurmctld"):
        pool.admit(ABSENT, "admitted by ada")
    assert ABSENT not in pool.members()


def test_features_of_admitted_nodes(slurm: Slurm, tmp_path: Path) -> None:
    pool = pool_of(slurm, tmp_path, features=["validated", "ndr"])
    assert pool.remove(N2, "x")
    assert pool.admit(N2, "admitted by ada")
    assert slurm.field(N2, "ActiveFeatures") == "validated,ndr"
    pool = pool_of(slurm, tmp_path / "other", features=["validated"])
    assert pool.admit(N1, "admitted by ada"), "it was a member without the feature"
    assert slurm.field(N1, "ActiveFeatures") == slurm.field(N1, "AvailableFeatures") == "h100,ndr,validated"
    assert not pool.admit(N1, "admitted by ada")
    assert pool.remove(N1, "drift")
    assert slurm.field(N1, "ActiveFeatures") == slurm.field(N1, "AvailableFeatures") == "h100,ndr"
    job = slurm.run(
        "sbatch", "--parsable", "--constraint=validated", "--output=/dev/null", f"--chdir={slurm.folder}", "--wrap=true"
    ).strip()
    slurm.wait(lambda: slurm.job_state(job) == "", "a job on the node that has the feature")
    assert pool_of(slurm, tmp_path / "third", features=["validated", "ndr"]).remove(N2, "x")
    assert slurm.field(N2, "ActiveFeatures") == ""


def test_only_the_nodes_of_the_partition(slurm: Slurm, tmp_path: Path) -> None:
    pool = pool_of(slurm, tmp_path, partition="small")
    assert pool.members() == {N1}
    with pytest.raises(PoolError, match="r12-n02 is not in the partition small"):
        pool.admit(N2, "admitted by ada")
    slurm.take_out(N2, "clusterctl: by a pool of all")
    assert removed(pool, "") == frozenset()


def test_what_was_removed_lately(slurm: Slurm, pool: SlurmPool) -> None:
    pool.remove(N1, "x")
    slurm.take_out(N2, FOREIGN)
    assert removed(pool, timestamps.after(clock.now(), -60)) == {N1}
    assert removed(pool, timestamps.after(clock.now(), 60)) == frozenset()


def test_a_reboot_returns_nothing_by_itself(slurm: Slurm, pool: SlurmPool) -> None:
    """Slurm takes a silent node out and returns it when its slurmd is back, but not one that we drained."""
    assert pool.remove(N1, "provisioning")
    for name in (N1, N2, N3):
        slurm.stop(name)
    slurm.write_conf(down_s=10)
    slurm.run("scontrol", "reconfigure")
    for name in (N1, N2, N3):
        slurm.wait(partial(is_down, slurm, name), f"{name} down")
    slurm.write_conf()
    slurm.run("scontrol", "reconfigure")
    assert slurm.field(N2, "Reason") == "Not responding"
    assert pool.members() == {N4}
    with pytest.raises(PoolError, match="Slurm itself took r12-n02 out: Not responding"):
        pool.admit(N2, "admitted by ada")
    assert not pool.remove(N2, "provisioning"), "no job could start on it"
    for name in (N1, N2, N3):
        slurm.start_node(name)
    for name in (N1, N2, N3):
        slurm.wait(partial(slurm.answers, name), f"{name} back")
    slurm.wait(lambda: slurm.state(N3) == {"IDLE"}, "the node that nobody drained")
    assert {"DRAIN"} <= slurm.state(N1) & slurm.state(N2)
    assert slurm.field(N2, "Reason") == "clusterctl: provisioning"
    assert pool.admit(N1, "admitted by ada")
    assert pool.admit(N2, "admitted by ada")
    assert pool.members() == set(NODES)


def test_a_node_that_rebooted_unexpectedly_is_not_ours_to_resume(slurm: Slurm, pool: SlurmPool) -> None:
    slurm.take_out(N1, "Node unexpectedly rebooted", "DOWN")
    with pytest.raises(PoolError, match="Slurm itself took r12-n01 out"):
        pool.admit(N1, "admitted by ada")
    assert slurm.state(N1) == {"DOWN"}


def test_a_dynamic_node_joins_and_leaves(slurm: Slurm, pool: SlurmPool) -> None:
    slurm.start_node(DYNAMIC, "-Z", "--conf", "CPUs=1 RealMemory=100 State=DRAIN")
    slurm.wait(lambda: "DYNAMIC_NORM" in slurm.state(DYNAMIC), "the dynamic node")
    assert slurm.state(DYNAMIC) == {"IDLE", "DRAIN", "DYNAMIC_NORM"}
    assert DYNAMIC not in pool.members()
    assert pool.admit(DYNAMIC, "admitted by ada"), "its own configuration drained it, nobody else"
    assert DYNAMIC in pool.members()
    assert pool.remove(DYNAMIC, "drift")
    slurm.take_out(DYNAMIC, FOREIGN)
    with pytest.raises(PoolError, match="somebody else"):
        pool.admit(DYNAMIC, "admitted by ada")
    slurm.stop(DYNAMIC)
    slurm.run("scontrol", "delete", f"NodeName={DYNAMIC}")
    assert not pool.remove(DYNAMIC, "gone")
    slurm.start_node(DYNAMIC, "-Z", "--conf", "CPUs=1 RealMemory=100")
    slurm.wait(lambda: slurm.state(DYNAMIC) == {"IDLE", "DYNAMIC_NORM"}, "the dynamic node, idle")
    assert DYNAMIC in pool.members(), "jobs may run on it: it counts, and provisioning takes it out first"
    assert pool.remove(DYNAMIC, "provisioning")
    slurm.stop(DYNAMIC)
    slurm.run("scontrol", "delete", f"NodeName={DYNAMIC}")


def test_running_jobs_end_by_themselves(slurm: Slurm, tmp_path: Path) -> None:
    pool = pool_of(slurm, tmp_path, wait_minutes=0)
    job = slurm.submit(N1, N2)
    assert pool.remove(N1, "provisioning")
    assert pool.remove(N3, "provisioning")
    told: list[dict[str, str]] = []
    assert set(pool.vacate([N1, N3], lambda busy: told.append(dict(busy)))) == {N1}
    assert slurm.job_state(job) == "RUNNING"
    slurm.run("scontrol", "suspend", job)
    assert job in pool.vacate([N1, N3], lambda _busy: None)[N1], "a suspended job keeps its memory on the node"
    slurm.run("scontrol", "resume", job)
    patient = pool_of(slurm, tmp_path / "patient", wait_minutes=5)
    began = time.monotonic()

    def end_it(busy: Mapping[str, str]) -> None:
        told.append(dict(busy))
        slurm.run("scancel", job)

    assert patient.vacate([N1, N3], end_it) == {}
    assert time.monotonic() - began < 240
    assert set(told[-1]) == {N1}
    assert f"job {job} of " in told[-1][N1]


def test_a_drained_node_is_not_switched_off_under_its_job(slurm: Slurm, tmp_path: Path) -> None:
    declared = PoolDeclaration("slurm", {"conf": str(slurm.conf)})
    config = Config(tmp_path, (), tmp_path, operator="ada", pool=declared)
    store = fresh(tmp_path)
    pool = load_pool(declared, store)
    job = slurm.submit(N1)
    nodes = [node(N1), node("r99-n01")]
    store.register(nodes)
    moves = drain_nodes(store, pool, store.nodes(), operator="ada", reason="new power feed", force=True)
    assert set(still_running(pool, moves).jobs) == {N1}
    switch = partial(run_power, config, store, nodes, PowerAction.OFF, PowerLimits(), target=N1, ended=lambda _report: None)
    with pytest.raises(JobsRunError, match=f"not switched off: {N1}: job {job} of "):
        switch()
    assert slurm.job_state(job) == "RUNNING"
    slurm.stop("slurmctld")
    try:
        with pytest.raises(JobsRunError, match="not known what runs there: slurmctld does not answer"):
            switch()
    finally:
        slurm.start_controller()
    slurm.run("scancel", job)
    slurm.wait(lambda: slurm.job_state(job) == "", "the end of the job")
    with pytest.raises(ConfigError):  # nothing runs there any more: next it reads the inventory, and this site has none
        switch()


def test_a_node_with_a_job_is_left_alone_by_provision(slurm: Slurm, tmp_path: Path) -> None:
    pool = pool_of(slurm, tmp_path)
    world = World(tmp_path, pool=pool)
    assert {n.state for n in world.run(force=True).nodes} == {State.ADMITTED}
    job = slurm.submit(N1)
    world.calls.clear()
    world.bad = {N1: {"kernel"}}
    result = world.run()
    (left,) = [n for n in result.nodes if n.node == N1]
    assert (left.state, left.exit_code) == (State.DRAINED, ExitCode.CHANGES_PENDING)
    assert f"still in use: job {job} of " in left.reason
    assert [c[0] for c in world.calls] == ["validate"], "nothing was changed under the job"
    assert slurm.job_state(job) == "RUNNING"
    assert N1 not in pool.members()
    slurm.run("scancel", job)
    slurm.wait(lambda: slurm.job_state(job) == "", "the end of the job")
    assert {n.node: n.state for n in world.run(N1).nodes} == {N1: State.ADMITTED}
    assert "kernel" in str(world.calls)
    assert N1 in pool.members()


def test_provision_waits_for_a_job_and_says_so(slurm: Slurm, tmp_path: Path) -> None:
    world = World(tmp_path, names=(N1,), pool=pool_of(slurm, tmp_path, wait_minutes=5))
    job = slurm.submit(N1, seconds=15)
    assert {n.state for n in world.run().nodes} == {State.ADMITTED}
    notes = [p.text for p in world.progress if isinstance(p, Note)]
    assert any(f"waiting for what still runs: {N1}: job {job} of " in n for n in notes)


def test_a_controller_that_is_down_admits_nothing(slurm: Slurm, tmp_path: Path) -> None:
    pool = pool_of(slurm, tmp_path)
    world = World(tmp_path, names=(N1, N2), pool=pool)
    world.once_before("burn_in", lambda: slurm.stop("slurmctld"))
    result = world.run(force=True)
    assert {(n.state, n.exit_code) for n in result.nodes} == {(State.DRAINED, ExitCode.CHANGES_PENDING)}
    assert "slurmctld does not answer" in result.nodes[0].reason
    try:
        with pytest.raises(PoolUnreachableError) as caught:
            pool.members()
        assert "scontrol ping" in caught.value.hint
        with pytest.raises(PoolUnreachableError):
            pool.remove(N3, "x")
        with pytest.raises(PoolUnreachableError):
            pool.vacate([N3], lambda _busy: None)
        world.calls.clear()
        with pytest.raises(PoolUnreachableError):
            world.run()
        assert [c[0] for c in world.calls] == ["validate"], "no node is touched that may run jobs"
    finally:
        slurm.start_controller()
    slurm.wait(lambda: slurm.state(N1) == {"IDLE", "DRAIN"}, "the drain, which slurmctld kept")
    assert {n.state for n in world.run().nodes} == {State.ADMITTED}, "the same command again"
    assert {N1, N2} <= pool.members()


def test_a_controller_that_restarts_while_nodes_enter_is_waited_for(slurm: Slurm, tmp_path: Path) -> None:
    pool = pool_of(slurm, tmp_path)
    world = World(tmp_path, names=(N1, N2), pool=pool)
    reported: list[str] = []
    world.answering = Answering(pool, 60, in_doubt=True, waiting=lambda e: reported.append(str(e)), pause_s=0.5)
    starting = threading.Timer(3, slurm.start_controller)

    def restart() -> None:
        slurm.stop("slurmctld")
        starting.start()

    world.once_before("burn_in", restart)
    try:
        result = world.run(force=True)
    finally:
        starting.join()
    assert {n.state for n in result.nodes} == {State.ADMITTED}
    assert len(reported) == 1
    assert "slurmctld does not answer" in reported[0]


def test_jobs_avoid_the_nodes_that_report_excludes(slurm: Slurm) -> None:
    excluded = hostlist([N1, N2, N4])
    assert excluded == "r12-n[01-02,04]"
    words = ("sbatch", "--test-only", "--nodes=1", "--wrap=true")
    slurm.wait(
        lambda: slurm.is_idle(N3), f"{N3} answers"
    )  # the fixture may just have resumed it, and until it answers no job can be planned there
    assert f"on nodes {N3} in" in slurm.run(*words, f"--exclude={excluded}")
    assert "on nodes" in slurm.run(*words, "--exclude=")  # where all nodes pass, `report --hosts exclude` prints nothing
    assert "on nodes" not in slurm.run(*words, f"--exclude={hostlist([*NODES, ABSENT])}", check=False)
