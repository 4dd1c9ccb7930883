"""Pods of Kubernetes: which are work that keeps a node busy, and which may be evicted. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterctl.adapters.pools.kubernetes_nodes import TAINT

if TYPE_CHECKING:
    from collections.abc import Iterator

# of GPUs, whole, shared or in parts, and of what the same vendor's plug-ins offer beside them
_DEVICE_DOMAINS = frozenset({"nvidia.com", "amd.com", "gpu.intel.com"})


def gist_of_pod(pod: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a pod, of tens of thousands: metadata, status, the limits of its containers and which taints it tolerates.

    Raises:
        AttributeError, LookupError, TypeError, ValueError: it has another form than the API's.
    """
    spec = pod["spec"]
    containers = [c for kind in ("initContainers", "containers") for c in spec.get(kind) or ()]
    limits = [dict((c.get("resources") or {}).get("limits") or {}) for c in containers]
    kept = {"limits": [found for found in limits if found], "tolerations": [dict(t) for t in spec.get("tolerations") or ()]}
    return {"metadata": pod["metadata"], "status": pod.get("status"), "spec": kept}


def keeps_node_busy(pod: dict[str, Any]) -> bool:
    """Whether a pod is work: neither ended, nor the mirror of a static one, nor of a DaemonSet, unless that requests GPUs: then it is a tenant's.

    Claims of DRA do not identify a tenant's DaemonSet: those of exporters and of IMEX have some, too. Assumed: no tenant has a DaemonSet with such claims.
    """
    ended = (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}
    mirror = "kubernetes.io/config.mirror" in (pod["metadata"].get("annotations") or {})
    return not (ended or mirror or (_of_daemon_set(pod) and not any(_devices(pod))))


def owners(pod: dict[str, Any]) -> list[dict[str, Any]]:
    """Who would start it again elsewhere: a pod without an owner would be lost."""
    return [o for o in pod["metadata"].get("ownerReferences") or [] if o.get("controller")]


def comes_back(pod: dict[str, Any]) -> bool:
    """Whether its DaemonSet would start it again on a node that we took out."""
    return _of_daemon_set(pod) and any(_tolerated(t) for t in (pod.get("spec") or {}).get("tolerations") or ())


def _of_daemon_set(pod: dict[str, Any]) -> bool:
    return any(o["kind"] == "DaemonSet" for o in owners(pod))


def _devices(pod: dict[str, Any]) -> Iterator[str]:
    for limits in (pod.get("spec") or {}).get("limits") or ():
        for name, count in limits.items():
            if name.partition("/")[0] in _DEVICE_DOMAINS and str(count) != "0":
                yield name


def _tolerated(toleration: dict[str, Any]) -> bool:
    return toleration.get("key") in (None, "", TAINT) and toleration.get("effect") in (None, "", "NoSchedule")
