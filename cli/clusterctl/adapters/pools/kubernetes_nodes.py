"""Nodes of Kubernetes: what marks one as ours, and the patches that take it out and in. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

TAINT = "clusterctl/out-of-pool"
ADMITTED = "clusterctl/admitted"
CORDONED = "clusterctl/cordoned"
REASON = "clusterctl/reason"
SINCE = "clusterctl/since"
CONDITION = "ClusterctlAdmitted"
# as whom the API server notes us in `managedFields`; clusterctl without a name of its own was the one that the client has, and the last proves nothing
MANAGER = "clusterctl"
_OURS = frozenset({MANAGER, "OpenAPI-Generator", "before-first-apply", ""})
_KEEP_AWAY = frozenset({"NoSchedule", "NoExecute"})
# How other controllers mark a node that they hold: keys of taints, names of annotations, and labels as NAME=VALUE. Where each is written: tests/cases/kubernetes_holds.
HOLDS = (
    "quarantineHealthEvent",
    "nvsentinel.nvidia.com/*",
    "nvsentinel.dgxc.nvidia.com/external-remediation",
    # states of an upgrade by the operators of GPUs and NICs but `upgrade-required` and `upgrade-done`
    "nvidia.com/*-driver-upgrade-state=[!u]*",
    "nvidia.com/*-driver-upgrade-state=uncordon-required",
    "nvidia.com/*-driver-upgrade-state=upgrade-failed",
    "nvidia.com/mig.config.state=pending",
    "nvidia.com/mig.config.state=rebooting",
    "ToBeDeletedByClusterAutoscaler",
    "karpenter.sh/disrupt*",
    "medik8s.io/drain",
    "weave.works/kured-reboot-in-progress",
    "node.cluster.x-k8s.io/uninitialized",
    "node.cloudprovider.kubernetes.io/uninitialized",
    "remediator.kubernetes.azure.com/*",
    "sagemaker.amazonaws.com/node-health-status=Unschedulable*",
)
Patch = dict[str, Any]


@dataclass(frozen=True, slots=True)
class KubernetesNode:
    """A node as the API server has it.

    Attributes:
        taints: all of them, as the API has them; only the one of `TAINT` is ours.
        version: its resourceVersion: a patch that names it fails if somebody changed the node since.
        ready: whether its kubelet reports so.
        conditions: all of them, as the API has them.
        cordoned_by: who set `spec.unschedulable` last, as the API server noted it; empty = it did not.
        boot_id: of its kernel, as its kubelet reports it; empty = it never did.
    """

    name: str
    taints: tuple[dict[str, Any], ...]
    unschedulable: bool
    labels: dict[str, str]
    annotations: dict[str, str]
    ready: bool
    version: str
    conditions: tuple[dict[str, Any], ...] = ()
    cordoned_by: str = ""
    boot_id: str = ""

    @property
    def is_out(self) -> bool:
        """Whether we took it out."""
        return any(t["key"] == TAINT for t in self.taints)

    @property
    def is_out_since_it_registered(self) -> bool:
        """Whether its kubelet registered it with our taint (`--register-with-taints`), and nobody took it out or cordoned it since."""
        return self.is_out and not self.unschedulable and REASON not in self.annotations

    @property
    def is_cordoned_by_others(self) -> bool:
        """Whether somebody else cordoned it, maybe after our cordon was ended and its annotation left behind."""
        return self.unschedulable and (CORDONED not in self.annotations or self.cordoned_by not in _OURS)

    def holds_of_others(self, marks: Collection[str]) -> tuple[str, ...]:
        """The taints that keep pods away, the annotations, and the labels as NAME=VALUE that match a pattern of `marks`: another controller holds the node."""
        taints = (str(t["key"]) for t in self.taints if t.get("effect") in _KEEP_AWAY and t["key"] != TAINT)
        named = (*taints, *(name for name, value in self.annotations.items() if value))
        labels = (f"{name}={value}" for name, value in self.labels.items())
        found = [n for n in named if any(fnmatchcase(n, mark) for mark in marks)]
        found += (n for n in labels if any(fnmatchcase(n, mark) for mark in marks if "=" in mark))
        return tuple(dict.fromkeys(found))

    def condition(self, kind: str) -> tuple[str, str] | None:
        """Status and message of the condition of a type; None if the node has none."""
        found = next((c for c in self.conditions if c["type"] == kind), None)
        return None if found is None else (str(found.get("status", "")), str(found.get("message") or ""))

    @property
    def takes_pods(self) -> bool:
        """Whether new pods start on it. One that is not ready counts: they start as soon as it is."""
        return not self.unschedulable and not self.is_out


def read_node(found: dict[str, Any]) -> KubernetesNode:
    """A node of the API.

    Raises:
        LookupError, TypeError: it lacks what every node has. Without its `spec`, a node that is out would look as if it had no taints.
    """
    metadata, spec = found["metadata"], dict(found["spec"])
    status = found.get("status") or {}
    conditions = status.get("conditions") or []
    return KubernetesNode(
        metadata["name"],
        tuple({**taint, "key": taint["key"]} for taint in spec.get("taints") or ()),
        bool(spec.get("unschedulable")),
        metadata.get("labels") or {},
        metadata.get("annotations") or {},
        any(c["type"] == "Ready" and c["status"] == "True" for c in conditions),
        metadata["resourceVersion"],
        tuple({**c, "type": c["type"]} for c in conditions),
        _cordoner(metadata.get("managedFields") or ()),
        str((status.get("nodeInfo") or {}).get("bootID") or ""),
    )


def _cordoner(managed: Iterable[dict[str, Any]]) -> str:
    """The manager of the field (kubernetes.io, Server-Side Apply, field management of updates; a compiled kube-apiserver does so)."""
    found = (m for m in managed if "f:unschedulable" in ((m.get("fieldsV1") or {}).get("f:spec") or {}))
    return next((str(m.get("manager") or "") for m in found), "")


def taking_out(node: KubernetesNode, reason: str, now: str, *, cordon: bool) -> Patch:
    """Taint it, cordon it unless somebody has, and take the label away."""
    ours = cordon and not node.unschedulable
    taint = {"key": TAINT, "value": "true", "effect": "NoSchedule"}
    annotations = {REASON: reason, SINCE: now} | ({CORDONED: "true"} if ours else {})
    return {
        "metadata": {"resourceVersion": node.version, "labels": {ADMITTED: None}, "annotations": annotations},
        "spec": {"taints": [*node.taints, taint]} | ({"unschedulable": True} if ours else {}),
    }


def taking_in(node: KubernetesNode) -> Patch:
    """Undo what `taking_out` did, and nothing else, and label it."""
    annotations = dict.fromkeys((REASON, SINCE, CORDONED))
    return {
        "metadata": {"resourceVersion": node.version, "labels": {ADMITTED: "true"}, "annotations": annotations},
        "spec": {"taints": [t for t in node.taints if t["key"] != TAINT]}
        | ({"unschedulable": None} if CORDONED in node.annotations else {}),
    }


def admission_condition(*, admitted: bool, reason: str, now: str) -> Patch:
    """The condition that shows why, for `kubectl describe node`."""
    return condition_patch(CONDITION, status=admitted, reason="Admitted" if admitted else "OutOfPool", message=reason, now=now)


def condition_patch(kind: str, *, status: bool, reason: str, message: str, now: str) -> Patch:
    """Sets one condition; the API server keeps those of other types."""
    at = f"{now[:19]}Z"
    found = {"type": kind, "status": str(status), "reason": reason, "message": message, "lastTransitionTime": at, "lastHeartbeatTime": at}
    return {"status": {"conditions": [found]}}


def retaining(node: KubernetesNode, reason: str) -> Patch:
    """Another reason for a node that stays out."""
    return {"metadata": {"resourceVersion": node.version, "annotations": {REASON: reason}}}
