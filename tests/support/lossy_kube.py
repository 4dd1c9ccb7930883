"""An API server of Kubernetes nodes that loses answers: before it acts, or after. Its state outlives whoever calls it."""

from __future__ import annotations

import contextlib
import json
import threading
from fnmatch import fnmatchcase
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from support.kube_lists import listed

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
    """A context manager; its nodes are ready, and out of the pool by our taint.

    Attributes:
        folder: where the state lies; another one is another cluster at the same address.
        asked: the targets of the requests that it got over the network.
        pods: what it lists.
    """

    def __init__(self, folder: Path, names: Sequence[str] = ("r12-n01",)) -> None:
        self.kubeconfig = folder / "kubeconfig"
        self.folder = folder
        self.asked: list[str] = []
        self.pods: list[dict[str, Any]] = []
        self.start(names)

    def start(self, names: Sequence[str]) -> None:
        """Write the state of a new cluster into the folder."""
        self.faults(())
        self._write("nodes.json", {n: _node(n) for n in names})

    def __enter__(self) -> Self:
        kube = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                kube.asked.append(self.path)
                self._answer(kube.request("GET", self.path, None))

            def do_PATCH(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self._answer(kube.request("PATCH", self.path, body))

            def _answer(self, answer: tuple[int, dict[str, Any]]) -> None:
                if not answer[0]:
                    self.close_connection = True
                    return
                text = json.dumps(answer[1]).encode()
                self.send_response(answer[0])
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                with contextlib.suppress(ConnectionError):  # whoever asked was killed
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
        """What happens to the next requests that match `of` (`PATCH r12-n01/status`, `GET *`): status `answer`, 0 for none at all; it
        `acts` before, or not; `times`; `after` so many requests that are answered."""
        self._write("faults.json", list(faults))

    def members(self) -> frozenset[str]:
        """The nodes on which pods would start."""
        return frozenset(
            name
            for name, node in self._read("nodes.json").items()
            if _OUT["key"] not in {t["key"] for t in node["spec"]["taints"]} and not node["spec"].get("unschedulable")
        )

    def request(self, method: str, path: str, body: dict[str, Any] | None) -> tuple[int, dict[str, Any]]:
        """One request; returns status and body."""
        about = path.split("?", maxsplit=1)[0].removeprefix("/api/v1/").removeprefix("nodes/")
        fault = self._fault(f"{method} {about}")
        nodes, name = self._read("nodes.json"), about.split("/", maxsplit=1)[0]
        if body is not None and (fault is None or fault.get("acts")):
            nodes[name] = _merged(nodes[name], body)
            nodes[name]["metadata"]["resourceVersion"] = str(int(nodes[name]["metadata"]["resourceVersion"]) + 1)
            self._write("nodes.json", nodes)
        if fault:
            return int(fault["answer"]), {"kind": "Status", "message": "a fault of this test", "code": fault["answer"]}
        if name in nodes:
            return 200, nodes[name]
        return 200, listed({"nodes": list(nodes.values()), "pods": self.pods}.get(about, []), path)

    def _fault(self, words: str) -> dict[str, Any] | None:
        faults: list[dict[str, Any]] = self._read("faults.json")
        fault = next((f for f in faults if fnmatchcase(words, f["of"])), None)
        if fault is None:
            return None
        waits = fault.get("after", 0)
        fault |= {"after": waits - 1} if waits else {"times": fault.get("times", 1) - 1}
        self.faults([f for f in faults if f.get("times", 1)])
        return None if waits else fault

    def _read(self, name: str) -> Any:
        return json.loads((self.folder / f"kube_{name}").read_text())

    def _write(self, name: str, data: Any) -> None:
        (self.folder / f"kube_{name}").write_text(json.dumps(data))


def _node(name: str) -> dict[str, Any]:
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": name, "resourceVersion": "1", "labels": {}, "annotations": {"clusterctl/reason": "clusterctl: drained"}},
        "spec": {"taints": [_OUT]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }


def _merged(old: Any, new: Any) -> Any:
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    both = {k: _merged(old.get(k), v) for k, v in new.items()}
    if "conditions" in both:  # merged by type, as the server does
        known = {c["type"]: c for c in (*(old.get("conditions") or ()), *both["conditions"])}
        both["conditions"] = list(known.values())
    return {k: v for k, v in (old | both).items() if v is not None}
