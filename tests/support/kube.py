"""A real kube-apiserver with its etcd on loopback. No kubelet, controller or scheduler runs: a test that needs one says so and does its part."""

from __future__ import annotations

import json
import ssl
import subprocess
import time
import urllib.request
from typing import TYPE_CHECKING, Any

from support.daemons import Daemons
from support.ports import free_ports
from support.roles import ROOT
from support.unpacked_tools import which

if TYPE_CHECKING:
    from collections.abc import Sequence

_LIMIT_S = 180.0
_BUILT = ROOT / "build" / "kube" / "bin" / "kube-apiserver"
_ETCD = ROOT / "build" / "kube" / "root" / "usr" / "bin" / "etcd"
_TOKEN = "admin-of-this-test"
_KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{{name: test, cluster: {{server: "https://127.0.0.1:{port}", certificate-authority: "{folder}/certs/apiserver.crt"}}}}]
users: [{{name: admin, user: {{token: {token}}}}}]
contexts: [{{name: test, context: {{cluster: test, user: admin}}}}]
current-context: test
"""


def apiserver() -> str | None:
    """The program; None where it is neither installed nor built by scripts/kube_apiserver.sh."""
    return str(_BUILT) if _BUILT.exists() else which("kube-apiserver")


def etcd() -> str | None:
    """The program; None where it is neither installed nor unpacked."""
    return str(_ETCD) if _ETCD.exists() else which("etcd")


def missing_kube() -> list[str]:
    """The missing programs."""
    return [name for name, found in (("kube-apiserver", apiserver()), ("etcd", etcd())) if not found]


class Kube(Daemons):
    """A running API server; a context manager."""

    def __init__(self) -> None:
        super().__init__("clusterctl-kube-")
        self.kubeconfig = self.folder / "kubeconfig"
        self._api, self._client, self._peer = free_ports(3)

    def start(self) -> None:
        """See `Daemons.start`."""
        key = self.folder / "sa.key"
        subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True, timeout=_LIMIT_S)
        (self.folder / "tokens.csv").write_text(f'{_TOKEN},admin,1,"system:masters"\n')
        (self.folder / "tokens.csv").chmod(0o600)
        self.kubeconfig.write_text(_KUBECONFIG.format(port=self._api, folder=self.folder, token=_TOKEN))
        client, peer = (f"http://127.0.0.1:{p}" for p in (self._client, self._peer))
        words = {"data-dir": "etcd", "listen-client-urls": client, "advertise-client-urls": client, "listen-peer-urls": peer}
        more = {"initial-advertise-peer-urls": peer, "initial-cluster": f"default={peer}"}
        self.spawn("etcd", [etcd() or "", *(f"--{k}={v}" for k, v in (words | more).items()), "--unsafe-no-fsync"])
        self.start_apiserver()

    def start_apiserver(self) -> None:
        """Start kube-apiserver and wait until it is ready."""
        words = {
            "etcd-servers": f"http://127.0.0.1:{self._client}",
            "cert-dir": "certs",
            "secure-port": self._api,
            "bind-address": "127.0.0.1",
            "advertise-address": "127.0.0.1",
            "service-cluster-ip-range": "10.77.0.0/24",
            "token-auth-file": "tokens.csv",
            "authorization-mode": "RBAC",
            "service-account-key-file": "sa.key",
            "service-account-signing-key-file": "sa.key",
            "service-account-issuer": "https://test.invalid",
            "disable-admission-plugins": "ServiceAccount",
        }
        self.spawn("kube-apiserver", [apiserver() or "", *(f"--{k}={v}" for k, v in words.items())])
        end = time.monotonic() + _LIMIT_S
        while not self._ready():
            dead = self.ended()
            if dead or time.monotonic() > end:
                raise RuntimeError(f"{dead} ended, or not ready in time: {(self.folder / 'kube-apiserver.log').read_text()[-3000:]}")
            time.sleep(0.3)

    def request(self, method: str, path: str, body: dict[str, Any] | None = None, kind: str = "application/json") -> Any:
        """A request without clusterctl's client: what other programs do."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {_TOKEN}", "Content-Type": kind}
        trust = ssl.create_default_context(cafile=self.folder / "certs" / "apiserver.crt")
        asked = urllib.request.Request(f"https://127.0.0.1:{self._api}{path}", data, headers, method=method)
        with urllib.request.urlopen(asked, timeout=60, context=trust) as answer:  # noqa: S310
            text = answer.read()
        return json.loads(text) if text.startswith(b"{") else text.decode()

    def patch(self, path: str, body: dict[str, Any]) -> Any:
        """A merge patch."""
        return self.request("PATCH", path, body, "application/merge-patch+json")

    def node(self, name: str) -> Any:
        """A node."""
        return self.request("GET", f"/api/v1/nodes/{name}")

    def add_node(
        self, name: str, *, labels: dict[str, str] | None = None, taints: Sequence[dict[str, str]] = (), ready: bool = True
    ) -> None:
        """A new node, with the taints given only; its kubelet is this function."""
        self.request("POST", "/api/v1/nodes", {"kind": "Node", "apiVersion": "v1", "metadata": {"name": name, "labels": labels or {}}})
        self.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": list(taints)}})
        self.set_ready(name, ready=ready)

    def set_ready(self, name: str, *, ready: bool) -> None:
        """What the kubelet says."""
        self.patch(f"/api/v1/nodes/{name}/status", {"status": {"conditions": [{"type": "Ready", "status": str(ready), "reason": "Test"}]}})

    def add_pod(
        self, name: str, node: str, *, owner: str = "ReplicaSet", labels: dict[str, str] | None = None, phase: str = "Running"
    ) -> None:
        """A pod on a node; `owner` is the kind of its controller, empty = none."""
        owners = [{"apiVersion": "apps/v1", "kind": owner, "name": "o", "uid": "00000000-0000-0000-0000-000000000001", "controller": True}]
        metadata = {"name": name, "labels": labels or {}, "ownerReferences": owners if owner else []}
        spec = {"nodeName": node, "containers": [{"name": "c", "image": "none.invalid/none"}], "terminationGracePeriodSeconds": 30}
        body = {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec}
        self.request("POST", "/api/v1/namespaces/default/pods", body)
        conditions = [{"type": "Ready", "status": "True"}]
        self.patch(f"/api/v1/namespaces/default/pods/{name}/status", {"status": {"phase": phase, "conditions": conditions}})

    def pods(self) -> dict[str, bool]:
        """Pod -> whether it is told to end."""
        found = self.request("GET", "/api/v1/namespaces/default/pods")["items"]
        return {p["metadata"]["name"]: "deletionTimestamp" in p["metadata"] for p in found}

    def end_pod(self, name: str) -> None:
        """What the kubelet does when the containers of a pod have ended."""
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
        self.request("DELETE", f"/api/v1/namespaces/default/pods/{name}", body)

    def _ready(self) -> bool:
        try:
            return bool(self.request("GET", "/readyz") == "ok")
        except OSError:
            return False

    def environment(self) -> dict[str, str]:
        """See `Daemons.environment`."""
        return super().environment() | {"NO_PROXY": "127.0.0.1"}
