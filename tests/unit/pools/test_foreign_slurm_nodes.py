"""Nodes that slurmctld itself changed while they were out: its own findings, reasons and reboots are nobody's decision, and none of ours."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.pools.base import is_ours, signed
from clusterctl.adapters.pools.read_back import put_in, take_out
from clusterctl.adapters.pools.slurm import SlurmPool, SlurmSettings
from clusterctl.model.errors import PoolError
from support.lossy_slurm import LossySlurm
from support.plain_yaml import load_yaml
from support.roles import ROOT
from support.stores import fresh

if TYPE_CHECKING:
    from pathlib import Path

NAME = "r12-n01"
CASES: list[dict[str, Any]] = load_yaml((ROOT / "tests" / "cases" / "slurm_nodes" / "nodes.yml").read_text())


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LossySlurm:
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return LossySlurm(tmp_path / "bin")


def pool_with(slurm: LossySlurm, case: dict[str, Any], tmp_path: Path) -> SlurmPool:
    slurm.hold(NAME, case["reason"], case["state"])
    return SlurmPool.create(fresh(tmp_path / "state"), SlurmSettings(reason_leader="[HC]"))


def test_the_cases_have_a_signature_of_ours() -> None:
    assert signed("provisioning: 2 roles", "[HC]") == "[HC] provisioning: 2 roles (clusterctl 107b2ffe)"


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["name"])
def test_it_is_admitted_where_nobody_holds_it_and_slurm_takes_it(slurm: LossySlurm, case: dict[str, Any], tmp_path: Path) -> None:
    pool = pool_with(slurm, case, tmp_path)
    assert pool.takes_jobs(NAME) is case.get("member", False)
    if case["admit"] is True:
        assert put_in(pool, NAME, "admitted by ada")
        assert slurm.members() == {NAME}
    else:
        with pytest.raises(PoolError, match=case["admit"]) as caught:
            pool.admit(NAME, "admitted by ada")
        assert caught.value.hint
        assert slurm.members() == frozenset()
        assert case["reason"] in {slurm.reason(), ""}, "what Slurm or somebody else wrote stays"


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["name"])
def test_it_is_taken_out_for_as_long_as_we_want(slurm: LossySlurm, case: dict[str, Any], tmp_path: Path) -> None:
    pool = pool_with(slurm, case, tmp_path)
    if isinstance(case["remove"], str):
        with pytest.raises(PoolError, match=case["remove"]) as caught:
            take_out(pool, NAME, "provisioning")
        assert case.get("hint", "scontrol cancel_reboot") in caught.value.hint
        assert slurm.reason() == case["reason"]
    else:
        assert not take_out(pool, NAME, "provisioning")
        assert is_ours(slurm.reason().split(" : ")[0]) is case["remove"]


@pytest.mark.parametrize(
    ("state", "busy"), [("ALLOCATED+DRAIN", True), ("MIXED+DRAIN", True), ("IDLE+COMPLETING+DRAIN", True), ("IDLE+DRAIN", False)]
)
def test_a_node_in_use_is_not_empty_because_squeue_shows_no_job(slurm: LossySlurm, state: str, busy: bool, tmp_path: Path) -> None:
    """With PrivateData=jobs slurmctld leaves the jobs of others out for all but operators (src/slurmctld/job_mgr.c of SchedMD/slurm 284c3b95)."""
    pool = pool_with(slurm, {"reason": "clusterctl: x", "state": state}, tmp_path)
    assert set(pool.busy([NAME])) == ({NAME} if busy else set())
    assert all("squeue shows no job" in text for text in pool.busy([NAME]).values())
