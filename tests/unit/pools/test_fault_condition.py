"""The condition that automatic repair reads, on an API server of this test: ours alone, set and ended with what is known of the node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.config import PoolDeclaration
from clusterctl.adapters.pools.loader import check_pool
from clusterctl.model.errors import ConfigError, PoolError
from clusterctl.model.state import State
from clusterctl.model.verdict import Reason, ReasonKind
from support.lossy_kube import LossyKube
from support.persons import drained_by_a_person
from support.provisioning import World
from support.stores import fresh

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clusterctl.adapters.pools.kubernetes import KubernetesPool

pytest.importorskip("kubernetes")
NAME, NAMES = "r12-n01", ("r12-n01", "r12-n02", "r12-n03")
EKS = "AcceleratedHardwareReady"
DECLARED = {"type": EKS, "status": False, "reason": "ClusterctlGate"}
GATE = Reason(ReasonKind.GATE_FAILED, "x", device="mlx5_3", item="rdma_pair")
FOUND = "clusterctl: gate.rdma_pair r12-n01:mlx5_3"


@pytest.fixture
def kube(tmp_path: Path) -> Iterator[LossyKube]:
    with LossyKube(tmp_path, NAMES) as running:
        yield running


def pool_of(kube: LossyKube, **settings: Any) -> KubernetesPool:
    from clusterctl.adapters.pools.kubernetes import KubernetesPool, KubernetesSettings  # noqa: PLC0415 after the check for the client

    checked = KubernetesSettings.model_validate({"kubeconfig": str(kube.kubeconfig), "timeout_s": 5.0, **settings})
    return KubernetesPool.create(fresh(kube.folder / "state"), checked)


def shown(kube: LossyKube, kind: str = EKS) -> tuple[str, str, str] | None:
    conditions = kube.request("GET", f"/api/v1/nodes/{NAME}", None)[1]["status"]["conditions"]
    return next(((c["status"], c.get("reason", ""), c.get("message", "")) for c in conditions if c["type"] == kind), None)


def write(kube: LossyKube, status: str, message: str) -> None:
    body = {"status": {"conditions": [{"type": EKS, "status": status, "reason": "NvidiaXID79Error", "message": message}]}}
    kube.request("PATCH", f"/api/v1/nodes/{NAME}/status", body)


def test_it_begins_with_a_mark_and_ends_with_the_admission(kube: LossyKube) -> None:
    pool = pool_of(kube, condition=DECLARED)
    assert pool.mark(NAME, GATE)
    assert shown(kube) == ("False", "ClusterctlGate", FOUND)
    assert shown(kube, "ClusterctlAdmitted") == ("False", "OutOfPool", FOUND)
    assert not pool.mark(NAME, GATE), "nothing is written twice"
    assert pool.admit(NAME, "admitted by ada")
    assert shown(kube) == ("True", "ClusterctlAdmitted", "clusterctl: admitted by ada")
    assert shown(kube, "Ready") == ("True", "", ""), "other conditions stay"


def test_a_type_that_names_a_problem_is_true_while_there_is_one(kube: LossyKube) -> None:
    pool = pool_of(kube, condition={"type": "GpuProblem", "status": True})
    pool.mark(NAME, GATE)
    assert shown(kube, "GpuProblem") == ("True", "ClusterctlQuarantined", FOUND)
    pool.admit(NAME, "x")
    assert (shown(kube, "GpuProblem") or ("",))[0] == "False"


def test_by_default_none_is_written(kube: LossyKube) -> None:
    assert pool_of(kube).mark(NAME, GATE)
    assert shown(kube) is None


def test_planned_work_is_no_fault(kube: LossyKube) -> None:
    pool = pool_of(kube, condition=DECLARED)
    pool.admit(NAME, "x")
    assert shown(kube) is None, "there was nothing to end"
    pool.remove(NAME, "provisioning: 2 failing checks")
    assert shown(kube) is None


@pytest.mark.parametrize("status", ["True", "False"])
def test_the_condition_of_another_controller_stays(kube: LossyKube, status: str) -> None:
    write(kube, status, "XID 79")
    pool = pool_of(kube, condition=DECLARED)
    with pytest.raises(PoolError, match="another controller writes the condition AcceleratedHardwareReady of r12-n01"):
        pool.mark(NAME, GATE)
    pool.admit(NAME, "x")
    assert shown(kube) == (status, "NvidiaXID79Error", "XID 79")


def test_a_node_in_service_is_not_said_to_be_faulty(kube: LossyKube) -> None:
    pool = pool_of(kube, condition=DECLARED)
    pool.admit(NAME, "x")
    assert not pool.mark(NAME, GATE)
    assert shown(kube) is None


def test_a_condition_that_is_not_shown_is_no_condition(kube: LossyKube, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = pool_of(kube, condition=DECLARED)
    monkeypatch.setattr(pool._api, "change_status", lambda _name, _patch: True)
    with pytest.raises(PoolError, match="does not show it"):
        pool.mark(NAME, GATE)


def test_a_fault_that_cannot_be_ended_keeps_the_node_out(kube: LossyKube) -> None:
    pool = pool_of(kube, condition=DECLARED)
    pool.mark(NAME, GATE)
    kube.faults([{"of": f"PATCH {NAME}/status", "answer": 403}])
    with pytest.raises(PoolError, match="403"):
        pool.admit(NAME, "x")
    assert NAME not in kube.members()


def test_a_quarantine_sets_it(kube: LossyKube, tmp_path: Path) -> None:
    world = World(tmp_path / "site", gate_fails={NAME}, pool=pool_of(kube, condition=DECLARED))
    world.run()
    assert world.states()[NAME] is State.QUARANTINED
    assert (shown(kube) or ("", "", ""))[2].startswith("clusterctl: gate.rdma_pair r12-n01")
    assert kube.members() == set(NAMES[1:])


@pytest.mark.parametrize(
    ("to", "code", "faulty"),
    [
        (State.DRAINED, "", False),
        (State.DRAINED, "fan", False),
        (State.MAINTENANCE, "fan", False),
        (State.QUARANTINED, "", False),
        (State.QUARANTINED, "fan", True),
    ],
)
def test_a_person_sets_it_by_a_quarantine_with_a_code_alone(kube: LossyKube, tmp_path: Path, to: State, code: str, *, faulty: bool) -> None:
    pool = pool_of(kube, condition=DECLARED)
    pool.admit(NAME, "x")
    drained_by_a_person(tmp_path / "site", pool, to, code)
    text = f"clusterctl: person{'.fan' if code else ''} {NAME} {to} by ada: new DIMMs"
    assert shown(kube, "ClusterctlAdmitted") == ("False", "OutOfPool", text)
    assert shown(kube) == (("False", "ClusterctlGate", text) if faulty else None)


@pytest.mark.parametrize(
    "condition",
    [
        {"type": "Ready", "status": False},
        {"type": "ClusterctlAdmitted", "status": False},
        {"type": EKS},
        {"type": EKS, "status": "False"},
        {"type": "a b", "status": False},
        {"type": EKS, "status": False, "reason": "two words"},
        {"type": EKS, "status": False, "message": "x"},
    ],
)
def test_a_condition_that_cannot_be_meant_is_refused(condition: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"pool\.condition"):
        check_pool(PoolDeclaration("kubernetes", {"condition": condition}))
