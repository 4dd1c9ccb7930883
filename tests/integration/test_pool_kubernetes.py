"""The pool `kubernetes` on a real kube-apiserver and etcd of this test, on loopback. Kubelet and disruption controller are the test itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters import clock
from clusterctl.adapters.config import PoolDeclaration
from clusterctl.adapters.pools.base import Pool
from clusterctl.adapters.pools.kubernetes import KubernetesPool
from clusterctl.adapters.pools.kubernetes_nodes import taking_out
from clusterctl.adapters.pools.loader import load_pool
from clusterctl.adapters.pools.vacating import Vacating
from clusterctl.core import timestamps
from clusterctl.model.errors import PoolError, PoolUnreachableError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.state import State
from support.doc_blocks import blocks_of
from support.kube import Kube, missing_kube
from support.provisioning import World
from support.roles import ROOT
from support.stores import fresh

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

MISSING = missing_kube()
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"missing: {', '.join(MISSING)}; `make pools` builds and unpacks them")
N1, N2, N3 = NODES = ("r12-n01", "r12-n02", "r12-n03")
TAINT = {"key": "clusterctl/out-of-pool", "value": "true", "effect": "NoSchedule"}
GPU = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


@pytest.fixture(scope="module")
def running() -> Iterator[Kube]:
    with Kube() as kube:
        yield kube


@pytest.fixture
def kube(running: Kube) -> Kube:
    """Three new nodes, no pods, no budgets."""
    for pod in running.pods():
        running.end_pod(pod)
    running.request("DELETE", "/apis/policy/v1beta1/namespaces/default/poddisruptionbudgets")
    for node in running.request("GET", "/api/v1/nodes")["items"]:
        running.request("DELETE", f"/api/v1/nodes/{node['metadata']['name']}")
    for name in NODES:
        running.add_node(name, labels={"rack": "r12"}, taints=[GPU])
    return running


def pool_of(kube: Kube, tmp_path: Path, **settings: Any) -> KubernetesPool:
    declared = PoolDeclaration("kubernetes", {"kubeconfig": str(kube.kubeconfig), "wait_minutes": 0, **settings})
    pool = load_pool(declared, fresh(tmp_path))
    assert isinstance(pool, KubernetesPool)
    return pool


@pytest.fixture
def pool(kube: Kube, tmp_path: Path) -> KubernetesPool:
    return pool_of(kube, tmp_path)


def condition(kube: Kube, name: str) -> tuple[str, str]:
    (found,) = [c for c in kube.node(name)["status"]["conditions"] if c["type"] == "ClusterctlAdmitted"]
    return found["status"], found["message"]


def budget(kube: Kube, allowed: int, app: str = "train") -> None:
    """A budget, and what the disruption controller says of it."""
    path = "/apis/policy/v1beta1/namespaces/default/poddisruptionbudgets"
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}}
    name = f"{app}-{allowed}"
    kube.request("POST", path, {"kind": "PodDisruptionBudget", "apiVersion": "policy/v1beta1", "metadata": {"name": name}, "spec": spec})
    allow(kube, name, allowed)


def allow(kube: Kube, name: str, allowed: int) -> None:
    status = {"disruptionsAllowed": allowed, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2, "observedGeneration": 1}
    kube.patch(f"/apis/policy/v1beta1/namespaces/default/poddisruptionbudgets/{name}/status", {"status": status})


def test_out_and_in_again(kube: Kube, pool: KubernetesPool) -> None:
    assert isinstance(pool, Pool)
    assert isinstance(pool, Vacating)
    assert pool.members() == set(NODES)
    assert pool.remove(N1, "provisioning: 2 roles")
    assert not pool.remove(N1, "another reason")
    node = kube.node(N1)
    assert node["spec"] == {"taints": [GPU, TAINT, *_cordon_taint(node)], "unschedulable": True}
    assert node["metadata"]["annotations"]["clusterctl/reason"] == "clusterctl: provisioning: 2 roles"
    assert condition(kube, N1) == ("False", "clusterctl: provisioning: 2 roles")
    assert pool.members() == {N2, N3}
    assert pool.admit(N1, "admitted by ada")
    node = kube.node(N1)
    assert node["spec"] == {"taints": [GPU, *_cordon_taint(node)]}, "the taint of the GPU operator stays"
    assert node["metadata"]["labels"] == {"rack": "r12", "clusterctl/admitted": "true"}
    assert not node["metadata"].get("annotations")
    assert condition(kube, N1) == ("True", "clusterctl: admitted by ada")
    assert not pool.admit(N1, "admitted by ada")


def _cordon_taint(node: Any) -> list[Any]:
    """What the node controller adds to a cordoned node, where one runs."""
    return [t for t in node["spec"].get("taints", []) if t["key"].startswith("node.kubernetes.io/")]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl here")
def test_the_page_takes_a_node_back_by_hand(kube: Kube, pool: KubernetesPool) -> None:
    assert pool.remove(N1, "provisioning")
    page, here = ROOT / "docs/how-to/pools.md", "tests/integration/test_pool_kubernetes.py"
    (block,) = (b for b in blocks_of(page) if b.marks.get("runs-in") == here)
    environment = {**os.environ, "KUBECONFIG": str(kube.kubeconfig)}
    done = subprocess.run(["bash", "-euc", block.text], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert pool.takes_jobs(N1)
    left = kube.node(N1)["metadata"]
    assert [key for key in (*left.get("annotations", {}), *left["labels"]) if key.startswith("clusterctl/")] == []


def test_a_member_without_the_label_gets_it(kube: Kube, pool: KubernetesPool) -> None:
    assert pool.admit(N1, "admitted by ada")
    assert kube.node(N1)["metadata"]["labels"]["clusterctl/admitted"] == "true"
    assert pool.remove(N1, "drift")
    assert "clusterctl/admitted" not in kube.node(N1)["metadata"]["labels"]


def test_a_cordon_of_others_stays(kube: Kube, pool: KubernetesPool) -> None:
    kube.patch(f"/api/v1/nodes/{N1}", {"spec": {"unschedulable": True}})
    assert pool.members() == {N2, N3}
    with pytest.raises(PoolError, match="r12-n01 was cordoned by somebody else") as caught:
        pool.admit(N1, "admitted by ada")
    assert "undoes only what it did" in caught.value.hint
    assert not pool.remove(N1, "provisioning"), "no pod could start on it"
    kube.patch(f"/api/v1/nodes/{N1}", {"spec": {"unschedulable": None}})
    assert pool.members() == {N2, N3}, "they gave it back while it is changed"
    assert pool.admit(N1, "admitted by ada")
    assert pool.members() == set(NODES)


def test_a_cordon_after_ours_is_told_from_ours(kube: Kube, tmp_path: Path) -> None:
    pool = pool_of(kube, tmp_path, cordon=False)
    assert pool.remove(N1, "provisioning")
    assert "unschedulable" not in kube.node(N1)["spec"]
    kube.patch(f"/api/v1/nodes/{N1}", {"spec": {"unschedulable": True}})
    with pytest.raises(PoolError, match="cordoned by somebody else"):
        pool.admit(N1, "admitted by ada")
    assert TAINT in kube.node(N1)["spec"]["taints"]


def test_a_cordon_after_the_end_of_ours_is_told_from_ours(kube: Kube, pool: KubernetesPool) -> None:
    """Our annotation is still there; the API server notes who changed the field."""
    pool.remove(N1, "provisioning")
    for value in (None, True):
        kube.patch(f"/api/v1/nodes/{N1}", {"spec": {"unschedulable": value}})
    with pytest.raises(PoolError, match="r12-n01 was cordoned by somebody else"):
        pool.admit(N1, "admitted by ada")
    assert kube.node(N1)["spec"]["unschedulable"]
    kube.patch(f"/api/v1/nodes/{N1}", {"spec": {"unschedulable": None}})
    assert pool.admit(N1, "admitted by ada")


def test_taints_of_others_that_come_meanwhile_stay(kube: Kube, pool: KubernetesPool) -> None:
    pool.remove(N1, "provisioning")
    other = {"key": "example.com/team", "value": "a", "effect": "NoSchedule"}
    taints = kube.node(N1)["spec"]["taints"]
    kube.patch(f"/api/v1/nodes/{N1}", {"spec": {"taints": [other, *taints]}})
    assert pool.admit(N1, "admitted by ada")
    assert kube.node(N1)["spec"]["taints"] == [other, GPU]


def test_a_node_that_nvsentinel_quarantines_meanwhile_stays_out(kube: Kube, pool: KubernetesPool) -> None:
    pool.remove(N1, "provisioning")
    xid = {"key": "nvsentinel.nvidia.com/gpu-xid-error", "value": "true", "effect": "NoSchedule"}
    taints = kube.node(N1)["spec"]["taints"]
    kube.patch(f"/api/v1/nodes/{N1}", {"spec": {"taints": [xid, *taints]}})
    with pytest.raises(PoolError, match=r"held by another controller: nvsentinel\.nvidia\.com/gpu-xid-error"):
        pool.admit(N1, "admitted by ada")
    kube.patch(f"/api/v1/nodes/{N1}", {"spec": {"taints": taints}})
    assert pool.admit(N1, "admitted by ada")


def test_a_change_of_others_in_between_is_not_lost(kube: Kube, pool: KubernetesPool) -> None:
    """The API server refuses our patch with 409, for the node changed since we read it."""
    seen: list[str] = []

    def patch(present: Any) -> Any:
        seen.append(present.version)
        if len(seen) == 1:
            kube.patch(f"/api/v1/nodes/{N1}", {"spec": {"taints": [GPU, {"key": "other", "effect": "NoSchedule"}]}})
        return taking_out(present, "clusterctl: x", clock.now(), cordon=True)

    assert pool._api.change(N1, patch)
    assert len(set(seen)) == 2
    assert [t["key"] for t in kube.node(N1)["spec"]["taints"]] == ["nvidia.com/gpu", "other", "clusterctl/out-of-pool"]


def test_a_node_that_kubernetes_does_not_know(pool: KubernetesPool) -> None:
    with pytest.raises(PoolError, match="Kubernetes has no node r99-n01"):
        pool.admit("r99-n01", "admitted by ada")
    assert not pool.remove("r99-n01", "provisioning")
    assert pool.vacate(["r99-n01"], lambda _busy: None) == pool.busy(["r99-n01"]) == {}


def test_a_node_whose_kubelet_is_not_ready_is_not_admitted(kube: Kube, pool: KubernetesPool) -> None:
    kube.set_ready(N1, ready=False)
    assert N1 in pool.members(), "pods start as soon as it is ready"
    with pytest.raises(PoolError, match="kubelet of r12-n01 is not ready"):
        pool.admit(N1, "admitted by ada")
    assert N1 not in pool.members()
    kube.set_ready(N1, ready=True)
    assert pool.admit(N1, "admitted by ada")


def test_only_the_nodes_with_the_labels(kube: Kube, tmp_path: Path) -> None:
    kube.add_node("cpu-01", labels={"rack": "r01"})
    pool = pool_of(kube, tmp_path, selector="rack=r12")
    assert pool.members() == set(NODES)
    pool.remove("cpu-01", "x")
    pool.remove(N1, "x")
    assert pool.removed_since(timestamps.after(clock.now(), -60)) == {N1}
    assert pool.removed_since(timestamps.after(clock.now(), 60)) == frozenset()


def test_pods_are_evicted_as_their_budget_allows(kube: Kube, pool: KubernetesPool) -> None:
    for name in ("train-0", "train-1"):
        kube.add_pod(name, N1, labels={"app": "train"})
    kube.add_pod("daemon", N1, owner="DaemonSet")
    kube.add_pod("done", N1, owner="Job", phase="Succeeded")
    kube.add_pod("elsewhere", N2)
    budget(kube, 1)
    pool.remove(N1, "provisioning")
    assert pool.busy([N1, N2]) == {N1: "pod default/train-0, default/train-1", N2: "pod default/elsewhere"}
    assert not any(kube.pods().values()), "to ask ends nothing"
    left = pool.vacate([N1], lambda _busy: None)[N1]
    assert "default/train-0" in left
    assert "default/train-1 (" in left
    assert "disruption budget" in left
    assert kube.pods() == {"train-0": True, "train-1": False, "daemon": False, "done": False, "elsewhere": False}
    kube.end_pod("train-0")
    assert set(pool.vacate([N1], lambda _busy: None)) == {N1}
    assert kube.pods()["train-1"] is False, "the budget still allows none"
    allow(kube, "train-1", 1)
    assert "train-1" in pool.vacate([N1], lambda _busy: None)[N1], "it is told to end, and has not ended"
    assert kube.pods()["train-1"] is True
    kube.end_pod("train-1")
    assert pool.vacate([N1], lambda _busy: None) == {}


def test_a_pod_under_two_budgets_is_never_evicted(kube: Kube, pool: KubernetesPool) -> None:
    kube.add_pod("train-0", N1, labels={"app": "train"})
    budget(kube, 1)
    budget(kube, 2)
    assert "more than one PodDisruptionBudget" in pool.vacate([N1], lambda _busy: None)[N1]
    assert kube.pods() == {"train-0": False}


def test_what_nothing_would_start_again_may_finish(kube: Kube, tmp_path: Path) -> None:
    kube.add_pod("bare", N1, owner="")
    kube.add_pod("train-0", N2)
    assert "no controller" in pool_of(kube, tmp_path).vacate([N1], lambda _busy: None)[N1]
    assert pool_of(kube, tmp_path / "2", evict=False).vacate([N2], lambda _busy: None) == {N2: "pod default/train-0"}
    assert kube.pods() == {"bare": False, "train-0": False}


def test_it_waits_for_pods_to_end(kube: Kube, tmp_path: Path) -> None:
    kube.add_pod("train-0", N1)
    told: list[dict[str, str]] = []

    def end_it(busy: Mapping[str, str]) -> None:
        told.append(dict(busy))
        kube.end_pod("train-0")

    began = time.monotonic()
    assert pool_of(kube, tmp_path, wait_minutes=5).vacate([N1], end_it) == {}
    assert told == [{N1: "pod default/train-0"}]
    assert time.monotonic() - began < 240


def test_a_node_with_a_pod_is_left_alone_by_provision(kube: Kube, tmp_path: Path) -> None:
    world = World(tmp_path, pool=pool_of(kube, tmp_path))
    assert {n.state for n in world.run(force=True).nodes} == {State.ADMITTED}
    kube.add_pod("train-0", N1, labels={"app": "train"})
    budget(kube, 0)
    world.calls.clear()
    world.bad = {N1: {"kernel"}}
    (left,) = [n for n in world.run().nodes if n.node == N1]
    assert (left.state, left.exit_code) == (State.DRAINED, ExitCode.CHANGES_PENDING)
    assert "still in use: pod default/train-0" in left.reason
    assert [c[0] for c in world.calls] == ["validate"]
    assert kube.pods() == {"train-0": False}
    kube.end_pod("train-0")
    assert {n.node: n.state for n in world.run(N1).nodes} == {N1: State.ADMITTED}
    assert kube.node(N1)["metadata"]["labels"]["clusterctl/admitted"] == "true"


def test_an_api_server_that_is_down_admits_nothing(kube: Kube, tmp_path: Path) -> None:
    pool = pool_of(kube, tmp_path)
    world = World(tmp_path, names=(N1, N2), pool=pool)
    world.once_before("burn_in", lambda: kube.stop("kube-apiserver"))
    result = world.run(force=True)
    assert {(n.state, n.exit_code) for n in result.nodes} == {(State.DRAINED, ExitCode.CHANGES_PENDING)}
    assert "API server of Kubernetes does not answer" in result.nodes[0].reason
    try:
        for call in (pool.members, lambda: pool.remove(N3, "x"), lambda: pool.vacate([N3], lambda _busy: None)):
            with pytest.raises(PoolUnreachableError):
                call()
        world.calls.clear()
        with pytest.raises(PoolUnreachableError):
            world.run()
        assert [c[0] for c in world.calls] == ["validate"], "no node is touched that may run pods"
    finally:
        kube.start_apiserver()
    assert TAINT in kube.node(N1)["spec"]["taints"]
    assert {n.state for n in world.run().nodes} == {State.ADMITTED}, "the same command again"


def test_without_the_right_to_change_nodes(kube: Kube, tmp_path: Path) -> None:
    config = tmp_path / "kubeconfig"
    config.write_text(kube.kubeconfig.read_text().replace("admin-of-this-test", "nobody"))
    pool = load_pool(PoolDeclaration("kubernetes", {"kubeconfig": str(config)}), fresh(tmp_path))
    with pytest.raises(PoolError, match="refused \\(401\\)"):
        pool.members()


def test_the_boots_that_kubelets_report(kube: Kube, pool: KubernetesPool) -> None:
    assert pool.boots() == {}, "no kubelet has reported one"
    info = dict.fromkeys(
        ("machineID", "systemUUID", "kernelVersion", "osImage", "containerRuntimeVersion", "kubeletVersion", "kubeProxyVersion"), "x"
    )
    for name in (N1, N2):
        kube.patch(
            f"/api/v1/nodes/{name}/status",
            {"status": {"nodeInfo": {**info, "bootID": f"boot of {name}", "operatingSystem": "linux", "architecture": "amd64"}}},
        )
    kube.set_ready(N2, ready=False)
    boots = pool.boots()
    assert {name: (b.boot_id, b.is_member) for name, b in boots.items()} == {N1: (f"boot of {N1}", True)}
    pool.remove(N1, "drift")
    assert not pool.boots()[N1].is_member
