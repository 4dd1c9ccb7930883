"""The pool `kubernetes`: a node is out while it has our taint. Label, condition and annotations show the same to others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from clusterctl.adapters import clock
from clusterctl.adapters.pools.base import is_ours, signed
from clusterctl.adapters.pools.fault_condition import FaultCondition, FaultConditionSettings
from clusterctl.adapters.pools.kubernetes_nodes import (
    ADMITTED,
    HOLDS,
    REASON,
    SINCE,
    KubernetesNode,
    Patch,
    admission_condition,
    retaining,
    taking_in,
    taking_out,
)
from clusterctl.adapters.pools.kubernetes_pods import comes_back, keeps_node_busy, owners
from clusterctl.adapters.pools.marking import mark_text
from clusterctl.adapters.pools.settings import PoolSettings
from clusterctl.adapters.pools.vacating import wait_until_empty
from clusterctl.model.boots import ReportedBoot
from clusterctl.model.doctor_check import Check
from clusterctl.model.errors import PoolError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from clusterctl.adapters.pools.kubernetes_api import KubernetesApi
    from clusterctl.adapters.store.store import Store
    from clusterctl.model.verdict import Reason

_PAUSE_S = 5.0
_INSTALL = "pip install 'clusterctl[kubernetes]'"


class KubernetesSettings(PoolSettings):
    """`pool:` beside `kind: kubernetes`.

    Attributes:
        kubeconfig, context: how to reach the cluster; empty = KUBECONFIG, ~/.kube/config, or the pod's own account.
        selector: only nodes with these labels are members; empty = all nodes.
        cordon: also cordon nodes that are taken out.
        evict: `provision` and `drain --wait` evict pods that have a controller; otherwise they only wait for them.
        timeout_s: how long one request may take.
        wait_minutes: how long `provision` and `drain --wait` wait for pods.
        quarantine_marks: patterns of the taints, annotations and labels (NAME=VALUE) by which another controller marks a node as quarantined.
        condition: what a faulty node has for automatic repair to read; none by default, for whatever reads it may replace the node.
    """

    kubeconfig: str = ""
    context: str = ""
    selector: str = ""
    cordon: bool = True
    evict: bool = True
    timeout_s: float = Field(default=30.0, gt=0)
    wait_minutes: float = Field(default=30.0, ge=0)
    quarantine_marks: list[str] = Field(default_factory=lambda: list(HOLDS))
    condition: FaultConditionSettings | None = None


class KubernetesPool:
    """Nodes of Kubernetes, through its API. Taints, labels and cordons of others stay as they are."""

    settings_model: ClassVar[type[PoolSettings]] = KubernetesSettings

    def __init__(self, settings: KubernetesSettings, api: KubernetesApi) -> None:
        self._settings, self._api = settings, api
        self._fault = FaultCondition(settings.condition, api) if settings.condition else None

    @classmethod
    def create(cls, _store: Store, settings: KubernetesSettings, /) -> KubernetesPool:
        """A pool on the API of a cluster."""
        try:
            from clusterctl.adapters.pools.kubernetes_api import KubernetesApi  # noqa: PLC0415 the client comes with an extra
        except ModuleNotFoundError as e:
            raise PoolError(detail=f"the client of Kubernetes is not installed: {e}", hint=_INSTALL) from e
        return cls(settings, KubernetesApi(settings.kubeconfig, settings.context, settings.timeout_s))

    @classmethod
    def needs(cls, settings: KubernetesSettings, /) -> tuple[Check, ...]:
        """See `Needing.needs`: the client, and credentials."""
        try:
            from clusterctl.adapters.pools.kubernetes_credentials import credentials_check  # noqa: PLC0415 as in `create`
        except ModuleNotFoundError:
            return (Check("kubernetes client", ok=False, found="missing", hint=_INSTALL),)
        return (credentials_check(settings.kubeconfig, settings.context),)

    def admit(self, node: str, reason: str) -> bool:
        """See `Pool.admit`. A node whose kubelet is not ready is refused, and stays out.

        So is one that another controller holds: it would take our uncordoning for an operator's, and end the repair (NVSentinel, docs/cancelling-breakfix.md),
        or pods would start while it unloads the driver (k8s-operator-libs, pkg/upgrade).
        """
        if self._api.node(node) is None:
            raise PoolError(detail=f"Kubernetes has no node {node}", hint="join it to the cluster: its kubelet registers it")

        def patch(present: KubernetesNode) -> Patch | None:
            if present.is_cordoned_by_others:
                raise PoolError(
                    detail=f"{node} was cordoned by somebody else" + (f" ({present.cordoned_by})" if present.cordoned_by else ""),
                    hint="clusterctl undoes only what it did; whoever cordoned it uncordons it",
                )
            if not present.ready:
                raise _NotReadyError(detail=f"the kubelet of {node} is not ready", hint=f"`kubectl describe node {node}` shows why")
            if present.takes_pods and ADMITTED in present.labels:
                return None
            marks = present.holds_of_others(self._settings.quarantine_marks)
            if marks:
                raise PoolError(
                    detail=f"{node} is held by another controller: {', '.join(marks)}",
                    hint="wait for it or end it there, or change quarantine_marks of `pool:` in clusterctl.yml; then run the same command again",
                )
            return taking_in(present)

        if self._fault:  # before pods start: whatever repairs the node would end them
            self._fault.end(node, signed(reason))
        try:
            changed = self._api.change(node, patch)
        except _NotReadyError:
            self.remove(node, f"{reason}, but its kubelet is not ready")
            raise
        if changed:
            self._api.set_status(node, admission_condition(admitted=True, reason=signed(reason), now=clock.now()))
        return changed

    def remove(self, node: str, reason: str) -> bool:
        """See `Pool.remove`. A node that others cordoned is tainted, too: else pods start when they uncordon it while it is changed."""
        text, was = signed(reason), [False]

        def patch(present: KubernetesNode) -> Patch | None:
            was[0] = present.takes_pods
            return None if present.is_out else taking_out(present, text, clock.now(), cordon=self._settings.cordon)

        if self._api.change(node, patch):
            self._api.set_status(node, admission_condition(admitted=False, reason=text, now=clock.now()))
        return was[0]

    def mark(self, node: str, found: Reason) -> bool:
        """See `Marking.mark`. Also sets the condition of the site."""
        text = signed(mark_text(node, found))

        def patch(present: KubernetesNode) -> Patch | None:
            written = present.annotations.get(REASON, "")
            return retaining(present, text) if present.is_out and is_ours(written) and written != text else None

        changed = self._api.change(node, patch)
        if changed:
            self._api.set_status(node, admission_condition(admitted=False, reason=text, now=clock.now()))
        return bool(self._fault and self._fault.begin(node, text)) or changed

    def members(self) -> frozenset[str]:
        """See `Pool.members`."""
        return frozenset(n.name for n in self._api.nodes(self._settings.selector) if n.takes_pods)

    def takes_jobs(self, node: str) -> bool:
        """See `Readable.takes_jobs`; whatever its labels are."""
        present = self._api.node(node)
        return present is not None and present.takes_pods

    def boots(self) -> Mapping[str, ReportedBoot]:
        """See `ReportingBoots.boots`. A kubelet that is not ready reports the boot before."""
        nodes = self._api.nodes(self._settings.selector)
        return {n.name: ReportedBoot(n.boot_id, "", n.takes_pods, n.is_out_since_it_registered) for n in nodes if n.ready and n.boot_id}

    def return_booted(self, node: str) -> bool:
        """See `ReturningBooted.return_booted`: one whose kubelet registered it with our taint."""
        present = self._api.node(node)
        if present is not None and not present.takes_pods and not present.is_out_since_it_registered:
            raise PoolError(detail=f"{node} was taken out after it had registered", hint=f"see `kubectl describe node {node}`")
        return self.admit(node, "verified after a boot")

    def removed_since(self, moment: str) -> frozenset[str]:
        """See `Pool.removed_since`."""
        nodes = self._api.nodes(self._settings.selector)
        return frozenset(
            n.name for n in nodes if n.is_out and is_ours(n.annotations.get(REASON, "")) and n.annotations.get(SINCE, "") > moment
        )

    def busy(self, nodes: Collection[str]) -> Mapping[str, str]:
        """See `Vacating.busy`. It evicts nothing."""
        return self._pods(nodes, _pod_name)

    def vacate(self, nodes: Collection[str], waiting: Callable[[Mapping[str, str]], None]) -> Mapping[str, str]:
        """See `Vacating.vacate`. Evicts as PodDisruptionBudgets allow; pods without a controller may finish, for nothing would start them again."""
        return wait_until_empty(
            lambda: self._pods(nodes, self._evict_pod), waiting, limit_s=60 * self._settings.wait_minutes, pause_s=_PAUSE_S
        )

    def _pods(self, nodes: Collection[str], text: Callable[[dict[str, Any]], str]) -> dict[str, str]:
        """Node -> the pods that keep it busy, each as `text` has it."""
        found = {}
        for node, pods in self._api.pods(nodes).items():
            texts = [text(p) for p in pods if keeps_node_busy(p)]
            if texts:
                found[node] = "pod " + ", ".join(sorted(texts))
        return found

    def _evict_pod(self, pod: dict[str, Any]) -> str:
        """Evict a pod that something starts again elsewhere. Returns its name, and why it stays."""
        metadata, name = pod["metadata"], _pod_name(pod)
        if not self._settings.evict or metadata.get("deletionTimestamp"):
            return name
        if not owners(pod):
            return f"{name} (no controller would start it again)"
        if comes_back(pod):
            return f"{name} (its DaemonSet tolerates our taint, and would start it again here)"
        refused = self._api.evict(metadata["namespace"], metadata["name"])
        return f"{name} ({refused})" if refused else name


def _pod_name(pod: dict[str, Any]) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


class _NotReadyError(PoolError):
    """The kubelet does not report that it is ready."""
