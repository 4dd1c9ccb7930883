"""Boots of nodes on a real slurmctld, slurmd and munged of this test, on loopback: what Slurm reports of them, and does about them."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters import clock
from clusterctl.adapters.config import PoolDeclaration
from clusterctl.adapters.pools.loader import load_pool
from clusterctl.adapters.pools.slurm import SlurmPool
from clusterctl.adapters.pools.slurm_commands import SlurmCommands
from clusterctl.core import timestamps
from clusterctl.core.booted import SAME_BOOT_S, booted_since
from clusterctl.model.boots import VerifiedBoot
from clusterctl.model.errors import PoolError
from support.slurm import NODES, Slurm, missing_slurm, running_slurm
from support.stores import fresh

if TYPE_CHECKING:
    from collections.abc import Iterator

MISSING = missing_slurm()
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"missing: {', '.join(MISSING)}; apt-get install slurmctld slurmd slurm-client munge")
N1, N2, *_ = NODES


@pytest.fixture(scope="module")
def started() -> Iterator[Slurm]:
    with running_slurm() as slurm:
        yield slurm


@pytest.fixture
def slurm(started: Slurm, tmp_path: Path) -> Slurm:
    """Every node is in service and has reported its boot: at RESUME, Slurm forgets it until the node registers again."""
    started.resume_all()
    started.wait(lambda: set(pool_on(started, tmp_path).boots()) == set(NODES), "all that ever registered")
    return started


def pool_on(slurm: Slurm, folder: Path) -> SlurmPool:
    pool = load_pool(PoolDeclaration("slurm", {"conf": str(slurm.conf)}), fresh(folder))
    assert isinstance(pool, SlurmPool)
    return pool


@pytest.fixture
def pool(slurm: Slurm, tmp_path: Path) -> SlurmPool:
    return pool_on(slurm, tmp_path)


def rebooted(slurm: Slurm, name: str) -> None:
    """The slurmd of a node starts again and reports that the node has just booted (`slurmd -b`)."""
    slurm.stop(name)
    time.sleep(2)  # slurmctld compares whole seconds: the boot has to be later than the last answer
    slurm.start_node(name, "-b")


def test_slurm_reports_boots_and_not_restarts_of_slurmd(slurm: Slurm, pool: SlurmPool) -> None:
    before = pool.boots()
    assert all(b.is_member and not b.taken_out and not b.boot_id for b in before.values())
    here = timestamps.after(clock.now(), -float(Path("/proc/uptime").read_text().split()[0]))
    assert all(abs(timestamps.seconds_between(here, b.booted_at)) < SAME_BOOT_S for b in before.values())
    slurm.stop(N1)
    slurm.start_node(N1)
    slurm.wait(partial(slurm.answers, N1), "the slurmd that started again")
    again = pool.boots()[N1]
    verified = VerifiedBoot(N1, clock.now(), "", before[N1].booted_at)
    assert not booted_since(again, verified)


def test_a_node_that_slurm_took_out_for_its_boot_is_returned_and_no_other(slurm: Slurm, pool: SlurmPool) -> None:
    before = pool.boots()
    rebooted(slurm, N1)
    slurm.wait(lambda: slurm.field(N1, "Reason") == "Node unexpectedly rebooted", "the boot that slurmctld noticed")
    assert slurm.state(N1) == {"DOWN"}
    slurm.wait(partial(slurm.answers, N1), "its slurmd")
    found = pool.boots()[N1]
    assert (found.is_member, found.taken_out) == (False, True)
    assert booted_since(found, VerifiedBoot(N1, clock.now(), "", before[N1].booted_at))
    assert pool.return_booted(N1)
    assert pool.takes_jobs(N1)
    assert not pool.return_booted(N1), "it is in"
    slurm.wait(lambda: N1 in pool.boots(), "the node that was resumed")
    slurm.take_out(N1, "NHC: check_hw_gpu: 7 of 8")
    with pytest.raises(PoolError, match="somebody else"):
        pool.return_booted(N1)
    assert not pool.boots()[N1].taken_out
    slurm.run("scontrol", "update", f"NodeName={N1}", "State=RESUME")
    slurm.take_out(N1, "Not responding", "DOWN")
    with pytest.raises(PoolError, match="Slurm itself took r12-n01 out"):
        pool.return_booted(N1)


def test_a_boot_while_slurmctld_was_down_is_reported_all_the_same(slurm: Slurm, pool: SlurmPool) -> None:
    """slurmctld does not notice it then, and lets jobs run there, whatever ReturnToService is."""
    before = pool.boots()[N2]
    slurm.stop(N2)
    slurm.stop("slurmctld")
    time.sleep(2)
    slurm.start_controller()
    slurm.start_node(N2, "-b")
    slurm.wait(lambda: N2 in pool.boots(), "the node, registered again")
    found = pool.boots()[N2]
    assert (found.is_member, found.taken_out) == (True, False)
    assert booted_since(found, VerifiedBoot(N2, clock.now(), "", before.booted_at))


def test_the_clock_of_slurmctld_is_read(slurm: Slurm) -> None:
    assert abs(SlurmCommands(str(slurm.conf), 60.0).clock_ahead_s()) <= 2
