"""An API server of one Kubernetes node that loses answers: before it acts, or after."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Self

_OUT = {"key": "clusterctl/out-of-pool", "value": "true", "effect": "NoSchedule"}
_KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{{name: test, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: admin, user: {{}}}}]
contexts: [{{name: test, context: {{cluster: test, user: admin}}}}]
current-context: test
"""


class LossyKube:
    """A context manager; its node `r12-n01` is ready, and out of the pool by our taint."""

    def __init__(self, folder: Path) -> None:
        self.kubeconfig = folder / "kubeconfig"
        self._faults: list[dict[str, Any]] = []
        self.node: dict[str, Any] = {
            "kind": "Node",
            "apiVersion": "v1",
            "metadata": {
                "name": "r12-n01",
                "resourceVersion": "1",
                "labels": {},
                "annotations": {"clusterctl/reason": "clusterctl: drained"},
            },
            "spec": {"taints": [_OUT]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        }

    def __enter__(self) -> Self:
        kube = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(kube.request("GET", self.path, None))

            def do_PATCH(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self._answer(kube.request("PATCH", self.path, body))

            def _answer(self, answer: tuple[int, dict[str, Any]]) -> None:
                text = json.dumps(answer[1]).encode()
                self.send_response(answer[0])
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.kubeconfig.write_text(_KUBECONFIG.format(port=self._server.server_address[1]))
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def faults(self, faults: Sequence[dict[str, Any]]) -> None:
        """What happens to the next requests `of` (`PATCH r12-n01/status`): status `answer`; it `acts` before, or not; `times`;
        `after` so many requests that are answered."""
        self._faults = [dict(f) for f in faults]

    def takes_jobs(self) -> bool:
        """Whether pods would start."""
        return _OUT["key"] not in {t["key"] for t in self.node["spec"]["taints"]} and not self.node["spec"].get("unschedulable")

    def request(self, method: str, path: str, body: dict[str, Any] | None) -> tuple[int, dict[str, Any]]:
        """One request; returns status and body."""
        words = f"{method} {path.split('?', maxsplit=1)[0].removeprefix('/api/v1/nodes/')}"
        fault = next((f for f in self._faults if f["of"] == words), None)
        if fault and fault.get("after"):
            fault["after"] -= 1
            fault = None
        if fault:
            fault["times"] = fault.get("times", 1) - 1
            if not fault["times"]:
                self._faults.remove(fault)
        if body is not None and (fault is None or fault.get("acts")):
            self.node = _merged(self.node, body)
            self.node["metadata"]["resourceVersion"] = str(int(self.node["metadata"]["resourceVersion"]) + 1)
        if fault:
            return int(fault["answer"]), {"kind": "Status", "message": "a fault of this test", "code": fault["answer"]}
        return 200, self.node


def _merged(old: Any, new: Any) -> Any:
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    both = {k: _merged(old.get(k), v) for k, v in new.items()}
    if "conditions" in both:  # merged by type, as the server does
        known = {c["type"]: c for c in (*(old.get("conditions") or ()), *both["conditions"])}
        both["conditions"] = list(known.values())
    return {k: v for k, v in (old | both).items() if v is not None}
