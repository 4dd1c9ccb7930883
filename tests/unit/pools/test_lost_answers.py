"""Slurm and Kubernetes that lose answers while a node is admitted: pool and record agree, or the record says that nobody knows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.pools.answering import Answering
from clusterctl.adapters.pools.kubernetes import KubernetesPool, KubernetesSettings
from clusterctl.adapters.pools.slurm import SlurmPool, SlurmSettings
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.state import State
from clusterctl.model.verdict import admissions_exit_code
from clusterctl.workflows.admit import Admitter, Candidate
from clusterctl.workflows.admit_again import admit_now
from clusterctl.workflows.reconcile import reconcile
from support.lossy_kube import LossyKube
from support.lossy_slurm import LossySlurm
from support.plain_yaml import load_yaml
from support.roles import ROOT
from support.stores import GATE, a_node, a_run, bring, burn_in, findings, fresh

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.pools.base import Pool
    from clusterctl.adapters.store import Store

NAME = "r12-n01"
_FOLDER = ROOT / "tests" / "cases" / "lost_answers"
CASES = {name: load_yaml((_FOLDER / f"{name}.yml").read_text()) for name in ("kubernetes", "slurm")}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A drained node with current evidence."""
    store = fresh(tmp_path)
    store.register([a_node()])
    run = a_run()
    store.start_run(run)
    burn_in(store, run)
    bring(store, NAME, State.ADMITTED, State.DRAINED)
    return store


def check(store: Store, pool: Pool, lossy: LossySlurm | LossyKube, case: dict[str, Any], tmp_path: Path) -> None:
    lossy.faults(case["faults"])
    admitter = Admitter(store, Answering(pool), "ada", {})
    admissions = admit_now(admitter, [Candidate(a_node(), (GATE,), ())], lambda _nodes: [findings()], tmp_path, target=NAME)
    state, doubts = store.nodes()[0].state, [d.node for d in store.pool_doubts()]
    assert state is State(case["state"])
    assert admissions[0].verdict.admit is (state is State.ADMITTED)
    if case.get("in_doubt"):
        assert doubts == [NAME]
        assert admissions_exit_code(admissions) is ExitCode.CHANGES_PENDING
        assert "unknown in the pool" in store.nodes()[0].reason
    else:
        assert doubts == []
        assert (NAME in lossy.members()) is (state is State.ADMITTED)
    lossy.faults(())
    assert reconcile(store, pool, "ada") == ()
    assert store.pool_doubts() == ()
    assert (NAME in lossy.members()) is (state is State.ADMITTED)


@pytest.mark.parametrize("case", CASES["slurm"], ids=lambda c: c["name"])
def test_slurm(store: Store, case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slurm = LossySlurm(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    check(store, SlurmPool.create(store, SlurmSettings()), slurm, case, tmp_path)


@pytest.mark.parametrize("case", CASES["kubernetes"], ids=lambda c: c["name"])
def test_kubernetes(store: Store, case: dict[str, Any], tmp_path: Path) -> None:
    with LossyKube(tmp_path) as kube:
        check(store, KubernetesPool.create(store, KubernetesSettings(kubeconfig=str(kube.kubeconfig))), kube, case, tmp_path)
