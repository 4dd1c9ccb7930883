"""Refusals of an API server, and of what answers in its place: only the server itself says that a node or a pod does not exist."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.model.errors import PoolError
from support.hostile_server import HostileServer, write_kubeconfig
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.pools.kubernetes_api import KubernetesApi

pytest.importorskip("kubernetes")
_FOLDER = ROOT / "tests" / "cases" / "kubernetes_answers"
EVICTIONS, NODES = (load_yaml((_FOLDER / f"{name}.yml").read_text()) for name in ("evictions", "nodes"))


def answer(case: dict[str, Any]) -> bytes:
    body = (case["body"] if isinstance(case["body"], str) else json.dumps(case["body"])).encode()
    return f"HTTP/1.1 {case['status']} {HTTPStatus(case['status']).phrase}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def api(folder: Path, server: HostileServer) -> KubernetesApi:
    from clusterctl.adapters.pools.kubernetes_api import KubernetesApi  # noqa: PLC0415 after the check for the client

    found = KubernetesApi(write_kubeconfig(folder, server), "", 5.0)
    found._eviction_version = "policy/v1"
    return found


@pytest.mark.parametrize("case", NODES, ids=lambda c: c["name"])
def test_a_node_is_unknown_only_where_the_server_says_so(case: dict[str, Any], tmp_path: Path) -> None:
    with HostileServer(tmp_path, [answer(case)]) as server:
        found = api(tmp_path, server)
        if case.get("unknown"):
            assert found.node("n1") is None
            return
        with pytest.raises(PoolError, match=case["error"]) as caught:
            found.node("n1")
    assert case["hint"] in caught.value.hint


@pytest.mark.parametrize("case", EVICTIONS, ids=lambda c: c["name"])
def test_what_keeps_one_pod_ends_no_other_eviction(case: dict[str, Any], tmp_path: Path) -> None:
    with HostileServer(tmp_path, [answer(case)]) as server:
        found = api(tmp_path, server)
        if "error" in case:
            with pytest.raises(PoolError, match=case["error"]):
                found.evict("ml", "train-0")
        elif "stays" in case:
            assert case["stays"] in found.evict("ml", "train-0")
        else:
            assert found.evict("ml", "train-0") == ""


def test_an_eviction_without_an_answer_is_not_taken_for_a_refusal(tmp_path: Path) -> None:
    with HostileServer(tmp_path, [b""]) as server, pytest.raises(PoolError, match="does not answer"):
        api(tmp_path, server).evict("ml", "train-0")
