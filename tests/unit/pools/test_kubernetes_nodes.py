"""Nodes and pods of Kubernetes: what is ours, what keeps a node busy. All else is tested on an API server (tests/integration/test_pool_kubernetes.py)."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any, cast

import pytest

from clusterctl.adapters.config import PoolDeclaration
from clusterctl.adapters.pools import loader
from clusterctl.adapters.pools.kubernetes import KubernetesPool, KubernetesSettings
from clusterctl.adapters.pools.kubernetes_nodes import KubernetesNode, Patch, read_node, taking_in, taking_out
from clusterctl.adapters.pools.kubernetes_pods import gist_of_pod, keeps_node_busy
from clusterctl.model.errors import PoolError
from support.plain_yaml import load_yaml
from support.roles import ROOT
from support.stores import fresh

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from clusterctl.adapters.pools.kubernetes_api import KubernetesApi

NOW = "2026-11-22T21:44:09.000000Z"
GPU = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}


def node(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "n1", "resourceVersion": "7"}, "spec": spec}


def after(found: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """What a merge patch makes of a node."""
    merged = {key: {**found.get(key, {}), **patch.get(key, {})} for key in ("metadata", "spec")}
    for key in ("labels", "annotations"):
        both = {**found["metadata"].get(key, {}), **patch["metadata"].get(key, {})}
        merged["metadata"][key] = {k: v for k, v in both.items() if v is not None}
    merged["spec"] = {k: v for k, v in merged["spec"].items() if v is not None}
    return merged


@pytest.mark.parametrize("cordon", [True, False])
@pytest.mark.parametrize("spec", [{}, {"taints": [GPU]}, {"unschedulable": True, "taints": [GPU]}])
def test_in_undoes_what_out_did_and_nothing_else(spec: dict[str, Any], cordon: bool) -> None:
    before = node(**spec)
    out = after(before, taking_out(read_node(before), "clusterctl: x", NOW, cordon=cordon))
    assert not read_node(out).takes_pods
    assert out["metadata"]["resourceVersion"] == "7", "a change of others in between is refused"
    back = after(out, taking_in(read_node(out)))
    assert back["spec"] == {"taints": [], **spec}
    assert read_node(back).is_cordoned_by_others is bool(spec.get("unschedulable"))


@dataclass
class OneNode:
    """An API server with one node."""

    found: dict[str, Any]
    statuses: int = 0

    def node(self, _name: str) -> KubernetesNode:
        return read_node(self.found)

    def change(self, _name: str, patch: Callable[[KubernetesNode], Patch | None]) -> bool:
        wanted = patch(read_node(self.found))
        self.found = after(self.found, wanted) if wanted else self.found
        return wanted is not None

    def set_status(self, _name: str, _patch: Patch) -> None:
        self.statuses += 1


READY = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
HOLDS: list[dict[str, Any]] = load_yaml((ROOT / "tests" / "cases" / "kubernetes_holds" / "nodes.yml").read_text())


@pytest.mark.parametrize("cordon", [True, False])
@pytest.mark.parametrize("case", HOLDS, ids=lambda c: c["name"])
def test_a_node_that_another_controller_holds_is_not_ours_to_admit(case: dict[str, Any], cordon: bool) -> None:
    """Also where we took it out first: that controller would take our uncordoning for the end of its work, or pods start in the middle of it."""
    before = node(taints=case.get("taints", [])) | READY
    before["metadata"] |= {name: case.get(name, {}) for name in ("annotations", "labels")}
    out = after(before, taking_out(read_node(before), "clusterctl: x", NOW, cordon=cordon)) | READY
    for found in (before, out):
        api = OneNode(found)
        pool = KubernetesPool(KubernetesSettings(), cast("KubernetesApi", api))
        if "marks" not in case:
            assert pool.admit("n1", "x")
            continue
        with pytest.raises(PoolError, match=re.escape(f"n1 is held by another controller: {case['marks']}") + "$") as caught:
            pool.admit("n1", "x")
        assert "quarantine_marks" in caught.value.hint
        assert (api.found, api.statuses) == (found, 0), "nothing was changed"
        assert KubernetesPool(KubernetesSettings(quarantine_marks=[]), cast("KubernetesApi", OneNode(found))).admit("n1", "x")


@pytest.mark.parametrize(
    ("kind", "phase", "annotations", "busy"),
    [
        ("ReplicaSet", "Running", {}, True),
        ("", "Pending", {}, True),
        ("Job", "Succeeded", {}, False),
        ("Job", "Failed", {}, False),
        ("DaemonSet", "Running", {}, False),
        ("Node", "Running", {"kubernetes.io/config.mirror": "x"}, False),
    ],
)
def test_which_pods_are_work(kind: str, phase: str, annotations: dict[str, str], busy: bool) -> None:
    owners = [{"kind": kind, "controller": True}] if kind else None
    pod = {"metadata": {"name": "p", "ownerReferences": owners, "annotations": annotations}, "status": {"phase": phase}}
    assert keeps_node_busy(pod) is busy


@dataclass(frozen=True)
class PodsOnly:
    """An API that lists pods; whatever else is asked of it fails."""

    found: dict[str, list[dict[str, Any]]]
    evicted: list[str] = field(default_factory=list)

    def evict(self, namespace: str, name: str) -> str:
        self.evicted.append(f"{namespace}/{name}")
        return ""

    def pods(self, nodes: Collection[str]) -> dict[str, list[dict[str, Any]]]:
        return {node: self.found.get(node, []) for node in nodes}


PODS: list[dict[str, Any]] = load_yaml((ROOT / "tests" / "cases" / "kubernetes_pods" / "pods.yml").read_text())


@pytest.mark.parametrize("case", PODS, ids=lambda c: c["name"])
def test_a_pod_that_uses_the_gpus_is_work_whoever_started_it(case: dict[str, Any]) -> None:
    metadata = {"namespace": "ml", "name": "p", "ownerReferences": [{"kind": case["owner"], "name": "o", "controller": True}]}
    containers = [{"name": "sidecar"}, {"name": "c", "resources": case.get("resources")}]
    spec = {"nodeName": "n1", "containers": containers, "tolerations": case.get("tolerations")}
    api = PodsOnly({"n1": [gist_of_pod({"metadata": metadata, "spec": spec, "status": {"phase": "Running"}})]})
    pool = KubernetesPool(KubernetesSettings(wait_minutes=0), cast("KubernetesApi", api))
    assert ("n1" in pool.busy(["n1"])) is case["busy"]
    left = pool.vacate(["n1"], lambda _left: None).get("n1", "")
    assert api.evicted == (["ml/p"] if case.get("evicted") is True else [])
    assert isinstance(case.get("evicted", True), bool) or case["evicted"] in left


def test_to_ask_what_runs_evicts_nothing() -> None:
    owned = [{"kind": "ReplicaSet", "controller": True}]
    training = [{"metadata": {"namespace": "ml", "name": n, "ownerReferences": owned}} for n in ("train-1", "train-0")]
    done = [{"metadata": {"namespace": "ml", "name": "done"}, "status": {"phase": "Succeeded"}}]
    api = PodsOnly({"n1": training, "n2": done})
    assert KubernetesPool(KubernetesSettings(), cast("KubernetesApi", api)).busy(["n1", "n2", "n3"]) == {"n1": "pod ml/train-0, ml/train-1"}
    assert api.evicted == []


@pytest.mark.parametrize(
    ("fields", "ours"),
    [
        ([], True),
        ([{"manager": "clusterctl", "fieldsV1": {"f:spec": {"f:unschedulable": {}, "f:taints": {}}}}], True),
        ([{"manager": "OpenAPI-Generator", "fieldsV1": {"f:spec": {"f:unschedulable": {}}}}], True),
        (
            [
                {"manager": "kubelet", "fieldsV1": {"f:metadata": {}}},
                {"manager": "kube-controller-manager", "fieldsV1": {"f:spec": {"f:taints": {}}}},
            ],
            True,
        ),
        ([{"manager": "kubectl-cordon", "operation": "Update", "fieldsV1": {"f:spec": {"f:unschedulable": {}}}}], False),
        (
            [
                {"manager": "clusterctl", "fieldsV1": {"f:spec": {"f:taints": {}}}},
                {"manager": "x", "fieldsV1": {"f:spec": {"f:unschedulable": {}}}},
            ],
            False,
        ),
    ],
)
def test_a_cordon_that_came_after_ours_had_ended_is_not_ours(fields: list[dict[str, Any]], ours: bool) -> None:
    """k8s-driver-manager (bd62ca7d) uncordons its node when it is done, whoever cordoned it; our annotation stays, and somebody may cordon the node then."""
    before = node() | READY
    found = after(before, taking_out(read_node(before), "clusterctl: x", NOW, cordon=True)) | READY
    found["metadata"]["managedFields"] = fields
    api = OneNode(found)
    pool = KubernetesPool(KubernetesSettings(), cast("KubernetesApi", api))
    if ours:
        assert pool.admit("n1", "x")
        assert "unschedulable" not in api.found["spec"]
        return
    with pytest.raises(PoolError, match=rf"n1 was cordoned by somebody else \({fields[-1]['manager']}\)"):
        pool.admit("n1", "x")
    assert (api.found, api.statuses) == (found, 0), "nothing was changed"


def test_a_site_names_the_marks_of_its_own_controllers() -> None:
    _, settings = loader.check_pool(PoolDeclaration("kubernetes", {"quarantine_marks": ["example.com/repair=*"]}))
    pool = KubernetesPool(cast("KubernetesSettings", settings), cast("KubernetesApi", OneNode(held := node() | READY)))
    held["metadata"]["labels"] = {"example.com/repair": "fan"}
    with pytest.raises(PoolError, match=r"held by another controller: example\.com/repair=fan"):
        pool.admit("n1", "x")


def test_it_is_installed_under_its_name() -> None:
    offered = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][loader.GROUP]
    assert EntryPoint("kubernetes", offered["kubernetes"], loader.GROUP).load() is KubernetesPool


def test_without_access_it_says_so(tmp_path: Path) -> None:
    pytest.importorskip("kubernetes")
    for text in (None, "{}", "a: [", "apiVersion: v1\nkind: Config\n"):
        if text is not None:
            (tmp_path / "kubeconfig").write_text(text)
        with pytest.raises(PoolError, match="no access to Kubernetes") as caught:
            KubernetesPool.create(fresh(tmp_path / "state"), KubernetesSettings(kubeconfig=str(tmp_path / "kubeconfig")))
        assert "clusterctl.yml" in caught.value.hint


@pytest.mark.parametrize(
    "found",
    [
        {"metadata": {"name": "n1", "resourceVersion": "7"}},
        {"metadata": {"name": "n1", "resourceVersion": "7"}, "spec": None},
        node(taints=[{"y": "clusterctl/out-of-pool"}]),
        node(taints=["clusterctl/out-of-pool"]),
    ],
)
def test_a_node_whose_taints_cannot_be_seen_is_no_answer(found: dict[str, Any]) -> None:
    with pytest.raises((LookupError, TypeError)):
        read_node(found)


@dataclass
class ListedNodes:
    """An API server that lists nodes."""

    listed: list[dict[str, Any]]

    def nodes(self, _selector: str) -> list[KubernetesNode]:
        """All of them."""
        return [read_node(n) for n in self.listed]

    def node(self, name: str) -> KubernetesNode | None:
        """One of them."""
        return next((n for n in self.nodes("") if n.name == name), None)

    def change(self, name: str, patch: Callable[[KubernetesNode], Patch | None]) -> bool:
        """Merge the patch."""
        (number,) = (i for i, n in enumerate(self.listed) if n["metadata"]["name"] == name)
        wanted = patch(read_node(self.listed[number]))
        if wanted is not None:
            self.listed[number] = after(self.listed[number], wanted) | {"status": self.listed[number]["status"]}
        return wanted is not None

    def set_status(self, _name: str, _patch: Patch) -> None:
        """Shown to people only."""


def listed_node(name: str, boot_id: str | None, *, ready: str = "True", **spec: Any) -> dict[str, Any]:
    info = {} if boot_id is None else {"nodeInfo": {"bootID": boot_id}}
    status = {"conditions": [{"type": "Ready", "status": ready}], **info}
    return {"metadata": {"name": name, "resourceVersion": "7"}, "spec": spec, "status": status}


def test_the_boots_of_nodes_that_are_ready() -> None:
    """A kubelet that is not ready has reported the boot before; one that never reported has none."""
    api = ListedNodes(
        [
            listed_node("n1", "b1"),
            listed_node("n2", "b2", unschedulable=True),
            listed_node("n3", "b3", ready="Unknown"),
            listed_node("n4", ""),
            listed_node("n5", None),
        ]
    )
    boots = KubernetesPool(KubernetesSettings(), cast("KubernetesApi", api)).boots()
    assert {name: (b.boot_id, b.booted_at, b.is_member, b.taken_out) for name, b in boots.items()} == {
        "n1": ("b1", "", True, False),
        "n2": ("b2", "", False, False),
    }


OURS = {"key": "clusterctl/out-of-pool", "value": "true", "effect": "NoSchedule"}


def test_a_node_that_registered_with_our_taint_is_returned_and_no_other() -> None:
    """`--register-with-taints` is applied when a Node object is made; a node that clusterctl or a person took out stays out."""
    api = ListedNodes([listed_node("n1", "b1", taints=[GPU, OURS]), listed_node("n2", "b1"), listed_node("n3", "b1", taints=[OURS])])
    api.listed[2]["spec"]["unschedulable"] = True
    pool = KubernetesPool(KubernetesSettings(), cast("KubernetesApi", api))
    pool.remove("n2", "drift")
    assert {name: b.taken_out for name, b in pool.boots().items()} == {"n1": True, "n2": False, "n3": False}
    for name in ("n2", "n3"):
        with pytest.raises(PoolError, match="was taken out after it had registered"):
            pool.return_booted(name)
    assert pool.return_booted("n1")
    assert api.listed[0]["spec"]["taints"] == [GPU]
    assert not pool.return_booted("n1"), "it is in"
