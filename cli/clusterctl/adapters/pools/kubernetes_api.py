"""Talks to the API server with the official client; what it answers becomes plain JSON, what it refuses a PoolError."""

from __future__ import annotations

import json
import re
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kubernetes import client
from urllib3.exceptions import HTTPError

from clusterctl.adapters.deadline import within
from clusterctl.adapters.pools.kubernetes_credentials import load_credentials
from clusterctl.adapters.pools.kubernetes_nodes import MANAGER, KubernetesNode, read_node
from clusterctl.adapters.pools.kubernetes_pods import gist_of_pod
from clusterctl.model.errors import PoolError, PoolUnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

from clusterctl.adapters.pools.kubernetes_nodes import Patch

_BAD_CREDENTIALS, _ABSENT, _CONFLICT, _TOO_MANY, _SERVER = 401, 404, 409, 429, 500
# nothing was decided: a list that expired between two pages, a cache or a server that is not ready
_NOT_NOW = frozenset({410, _TOO_MANY, 502, 503, 504})
# webhooks and policies that deny an eviction choose its status
_DENIED = re.compile(r"admission webhook .* denied the request|ValidatingAdmissionPolicy .* denied request")
_TRIES = 8
_PAGE = 500
# 500,000 nodes or pods; and a list may take ten times as long as one page
_MOST_PAGES = 1000
_LIST_LIMITS = 10
# So many requests for the pods of one node each cost less than to learn the size of the cluster and read all of it.
_FEW_NODES = 10
# assumed: from a quarter of the cluster on, one list of all its pods costs less than a request per node
_LARGE_PART = 4
_NOT_ENDED = "status.phase!=Succeeded,status.phase!=Failed"


class KubernetesApi:
    """Nodes and pods of one cluster."""

    def __init__(self, kubeconfig: str, context: str, timeout_s: float) -> None:
        loaded = load_credentials(kubeconfig, context)
        loaded.retries = False
        self._api = client.CoreV1Api(client.ApiClient(loaded))
        self._timeout_s = timeout_s
        self._eviction_version = ""

    def nodes(self, selector: str) -> tuple[KubernetesNode, ...]:
        """The nodes with these labels."""
        items = tuple(self._items(self._api.list_node, label_selector=selector))
        with _well_formed():
            return tuple(map(read_node, items))

    def node(self, name: str) -> KubernetesNode | None:
        """One node; None if Kubernetes does not list it."""
        try:
            found = self._call(self._api.read_node, name)
        except PoolError as e:
            if _is_absent(e, name):
                return None
            raise
        with _well_formed():
            return read_node(found)

    def change(self, name: str, patch: Callable[[KubernetesNode], Patch | None]) -> bool:
        """Change a node as it is at that moment; made again if somebody changed it in between. Returns whether there was something to change."""
        return self._change(self._api.patch_node, name, patch)

    def change_status(self, name: str, patch: Callable[[KubernetesNode], Patch | None]) -> bool:
        """As `change`, of the status of a node."""
        return self._change(self._api.patch_node_status, name, patch)

    def _change(self, call: Callable[..., Any], name: str, patch: Callable[[KubernetesNode], Patch | None]) -> bool:
        for _ in range(_TRIES):
            present = self.node(name)
            wanted = None if present is None else patch(present)
            if wanted is None:
                return False
            try:
                self._call(call, name, wanted, field_manager=MANAGER)
            except PoolError as e:
                if _status(e) != _CONFLICT:
                    raise
            else:
                return True
        raise PoolError(detail=f"{name} was changed by others again and again", hint="run the same command again")

    def set_status(self, name: str, patch: Patch) -> None:
        """Change the status of a node."""
        self._call(self._api.patch_node_status, name, patch, field_manager=MANAGER)

    def pods(self, nodes: Collection[str]) -> dict[str, list[dict[str, Any]]]:
        """Node -> its pods that have not ended, as `gist_of_pod` has them.

        A field selector names one node at most: for a large part of the cluster, all its pods are listed once, and those of other nodes dropped page by page.
        """
        found: dict[str, list[dict[str, Any]]] = {node: [] for node in nodes}
        at_once = len(found) > _FEW_NODES and _LARGE_PART * len(found) >= self._size()
        for selector in [_NOT_ENDED] if at_once else [f"spec.nodeName={node},{_NOT_ENDED}" for node in found]:
            for pod in self._items(self._api.list_pod_for_all_namespaces, field_selector=selector):
                with _well_formed():
                    of_node = found.get(pod["spec"].get("nodeName", ""))
                if of_node is not None:
                    with _well_formed():
                        of_node.append(gist_of_pod(pod))
        return found

    def _size(self) -> int:
        """How many nodes the cluster has; 1 from a server that counts what it leaves out (`remainingItemCount`) not at all."""
        page = self._call(self._api.list_node, limit=1)
        with _well_formed():
            return len(page["items"]) + int(page["metadata"].get("remainingItemCount") or 0)

    def evict(self, namespace: str, name: str) -> str:
        """Request the eviction of a pod. Returns why this one stays for now, as by a PodDisruptionBudget; empty = it is ending or gone."""
        body = client.V1Eviction(
            api_version=self._eviction(), kind="Eviction", metadata=client.V1ObjectMeta(name=name, namespace=namespace)
        )
        try:
            self._call(self._api.create_namespaced_pod_eviction, name, namespace, body)
        except PoolError as e:
            if _is_absent(e, name, namespace):
                return ""
            # 500: more than one budget covers it; nothing is evicted then
            if _status(e) in (_TOO_MANY, _SERVER) or _keeps_one_pod(e):
                return str(e)
            raise
        return ""

    def _eviction(self) -> str:
        """policy/v1, or what the server has: up to 1.21 that is policy/v1beta1."""
        if not self._eviction_version:
            answer = self._call(self._api.get_api_resources)
            with _well_formed():
                found: dict[str, Any] = next((r for r in answer["resources"] if r["name"] == "pods/eviction"), {})
                self._eviction_version = f"{found.get('group', 'policy')}/{found.get('version', 'v1')}"
        return self._eviction_version

    def _items(self, call: Callable[..., Any], **words: Any) -> Iterator[dict[str, Any]]:
        """Page by page. Whatever a server names as the next one: no page is read twice, and the list ends."""
        position, read = "", {""}
        until = time.monotonic() + _LIST_LIMITS * self._timeout_s
        while True:
            more: dict[str, Any] = {"_continue": position} if position else {}
            page = self._call(call, limit=_PAGE, **more, **words)
            with _well_formed():
                items = [{**item, "metadata": {**item["metadata"]}} for item in page["items"]]
                position = str(page["metadata"].get("continue") or "")
            yield from items
            if not position:
                return
            if position in read or len(read) >= _MOST_PAGES or time.monotonic() > until:
                raise PoolUnreachableError(
                    detail=_endless(position, loop=position in read), hint="`kubectl get nodes` shows whether it ends there"
                )
            read.add(position)

    def _call(self, call: Callable[..., Any], *args: Any, **words: Any) -> Any:
        """The JSON that one request is answered with, within `timeout_s` for the whole exchange: the client's own limit starts again with each byte."""
        try:
            data = within(self._timeout_s, lambda: call(*args, _request_timeout=self._timeout_s, _preload_content=False, **words).data)
        except client.ApiException as e:
            raise _error(e) from e
        except (HTTPError, TimeoutError) as e:
            hint = "`kubectl get --raw /readyz` shows whether it runs; no node entered the pool, run the same command again then"
            raise PoolUnreachableError(detail=f"the API server of Kubernetes does not answer: {e}", hint=hint) from e
        with _well_formed():
            return dict(json.loads(data).items())


def _endless(position: str, *, loop: bool) -> str:
    how = (
        f"its pages form a loop at {position[:80]!r}"
        if loop
        else f"it has more than {_MOST_PAGES} pages, or more pages than it sends in time"
    )
    return f"the API server of Kubernetes sends a list without an end: {how}"


@contextmanager
def _well_formed() -> Iterator[None]:
    """The border to what the API server sends: what stands before it, a proxy for instance, may answer in its place.

    Raises:
        PoolUnreachableError: it is not JSON, or has another form than the API's.
    """
    try:
        yield
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as e:
        detail = f"the API server of Kubernetes sends another answer than its API has ({type(e).__name__}: {str(e)[:120]})"
        raise PoolUnreachableError(detail=detail, hint="`kubectl get nodes` shows whether a proxy answers in its place") from e


def _status(error: PoolError) -> int:
    return error.__cause__.status if isinstance(error.__cause__, client.ApiException) else 0


def _status_answer(error: Any) -> dict[str, Any]:
    """The `Status` with which the API server refused; empty = something else answered."""
    try:
        answer = dict(json.loads(getattr(error, "body", None) or ""))
    except (TypeError, ValueError, RecursionError):
        return {}
    return answer if answer.get("kind") == "Status" else {}


def _is_absent(error: PoolError, *names: str) -> bool:
    """Whether the API server reports that one of these does not exist. A 404 from anything else does not count: a page of an ingress, a server without its paths yet."""
    found = _status_answer(error.__cause__) if _status(error) == _ABSENT else {}
    details = found.get("details")
    return isinstance(details, dict) and found.get("reason") == "NotFound" and details.get("name") in names


def _keeps_one_pod(error: PoolError) -> bool:
    """Whether an eviction is refused for reasons of this pod: a webhook denies it, or its namespace is being deleted, and it with it."""
    found = _status_answer(error.__cause__)
    details = found.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    ending = any(isinstance(c, dict) and c.get("reason") == "NamespaceTerminating" for c in causes or ())
    return ending or _DENIED.search(str(found.get("message"))) is not None


def _error(error: Any) -> PoolError:
    found = _status_answer(error)
    if not found:
        body = error.body.decode(errors="replace") if isinstance(error.body, bytes) else str(error.body or "")
        return PoolUnreachableError(
            detail=f"the API server of Kubernetes does not answer: {error.status} {' '.join(f'{error.reason}: {body}'.split())[:120]}",
            hint="`kubectl get nodes` shows whether a proxy answers in its place; run the same command again when it is ready",
        )
    answer = str(found.get("message") or error.reason)
    if error.status in _NOT_NOW:
        return PoolUnreachableError(
            detail=f"the API server of Kubernetes is not ready: {answer}", hint="run the same command again when it is"
        )
    return PoolError(detail=f"Kubernetes refused ({error.status}): {answer}", hint=_hint(error.status))


def _hint(status: int) -> str:
    if status == _BAD_CREDENTIALS:
        return "the credentials have expired or were withdrawn: renew those of the kubeconfig, `kubectl auth whoami` shows whether they are accepted"
    if status == _ABSENT:
        return "`kubectl get nodes` shows whether the node is still there, and the address of the server in the kubeconfig right"
    return "`kubectl auth can-i patch nodes` shows the rights; docs/reference/configuration.md lists those that are needed"
