"""What runs on many nodes: one list of the cluster's pods, page by page; on a few of many nodes, a request per node."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.kube_lists import a_pod
from support.lossy_kube import LossyKube
from support.stores import fresh

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clusterctl.adapters.pools.kubernetes import KubernetesPool

pytest.importorskip("kubernetes")
from clusterctl.adapters.pools import kubernetes_api

NAMES = tuple(f"r{i // 36:02}-n{i % 36:02}" for i in range(100))
FEW = NAMES[: kubernetes_api._FEW_NODES]
PART = NAMES[:24]
LARGE_PART = NAMES[:25]
PODS = [
    *(a_pod(f"train-{i}", name) for i, name in enumerate(NAMES)),
    a_pod("done", NAMES[0], "Succeeded"),
    a_pod("failed", NAMES[0], "Failed"),
    a_pod("waits", "", "Pending"),
]


@pytest.fixture(scope="module")
def kube(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LossyKube]:
    with LossyKube(tmp_path_factory.mktemp("kube"), NAMES) as running:
        running.pods = PODS
        yield running


@pytest.fixture(scope="module")
def pool(kube: LossyKube) -> KubernetesPool:
    from clusterctl.adapters.pools.kubernetes import KubernetesPool, KubernetesSettings  # noqa: PLC0415 after the check for the client

    return KubernetesPool.create(fresh(kube.folder / "state"), KubernetesSettings(kubeconfig=str(kube.kubeconfig), timeout_s=5.0))


def selectors(kube: LossyKube) -> list[str]:
    return [parse_qs(urlsplit(t).query)["fieldSelector"][0] for t in kube.asked if t.startswith("/api/v1/pods")]


@pytest.mark.parametrize(("names", "requests"), [(FEW, len(FEW)), (PART, len(PART)), (LARGE_PART, 1), (NAMES, 1)])
def test_a_large_part_of_the_cluster_is_one_list(kube: LossyKube, pool: KubernetesPool, names: tuple[str, ...], requests: int) -> None:
    kube.asked.clear()
    assert pool.busy(names) == {name: f"pod ml/train-{NAMES.index(name)}" for name in names}
    assert len(selectors(kube)) == requests
    assert all(("spec.nodeName" in s) is (requests > 1) for s in selectors(kube))


@settings(max_examples=30)
@given(st.integers(1, 120), st.sets(st.sampled_from(NAMES), max_size=20))
def test_pages_and_requests_per_node_find_the_same(kube: LossyKube, pool: KubernetesPool, page: int, names: set[str]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(kubernetes_api, "_PAGE", page)
        found = []
        for few in (0, len(NAMES)):
            patched.setattr(kubernetes_api, "_FEW_NODES", few)
            patched.setattr(kubernetes_api, "_LARGE_PART", len(NAMES))
            found.append(pool.busy(names))
    assert found[0] == found[1] == {name: f"pod ml/train-{NAMES.index(name)}" for name in names}


def test_a_list_is_read_page_by_page(kube: LossyKube, pool: KubernetesPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubernetes_api, "_PAGE", 40)
    kube.asked.clear()
    assert set(pool.busy(NAMES)) == set(NAMES)
    assert len(selectors(kube)) == 3


def test_a_server_that_does_not_tell_its_size_is_read_once(
    kube: LossyKube, pool: KubernetesPool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    small = LossyKube(tmp_path, NAMES[:1])
    monkeypatch.setattr(kube, "folder", small.folder)
    kube.asked.clear()
    assert set(pool.busy(PART)) == set(PART)
    assert len(selectors(kube)) == 1
