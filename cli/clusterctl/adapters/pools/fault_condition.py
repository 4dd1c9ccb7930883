"""The condition by which a site's automatic repair learns that a node is faulty: set when something was found on it, ended before it is admitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field

from clusterctl.adapters import clock
from clusterctl.adapters.pools.base import is_ours
from clusterctl.adapters.pools.kubernetes_nodes import CONDITION, KubernetesNode, Patch, condition_patch
from clusterctl.adapters.pools.settings import PoolSettings
from clusterctl.model.errors import PoolError

if TYPE_CHECKING:
    from collections.abc import Callable

    from clusterctl.adapters.pools.kubernetes_api import KubernetesApi

# the kubelet, the node lifecycle controller and we write these
_TAKEN = frozenset({"Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", CONDITION})


def _free(kind: str) -> str:
    if kind in _TAKEN:
        raise ValueError(f"{kind} has its own writer")
    return kind


class FaultConditionSettings(PoolSettings):
    """`condition:` of the pool `kubernetes`.

    Attributes:
        type: of the condition, as the repair reads it.
        status: its status while the node is faulty: `False` for a type that means that all is well, as for EKS (docs of EKS, node-repair). Whether EKS acts
            on one that its own agent did not write is not confirmed.
        reason: one word, in CamelCase.
    """

    type: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9./_-]{0,62}[A-Za-z0-9]$"), AfterValidator(_free)]
    status: bool
    reason: str = Field(default="ClusterctlQuarantined", pattern=r"^[A-Za-z][A-Za-z0-9_]{0,127}$")


@dataclass(frozen=True, slots=True)
class FaultCondition:
    """The declared condition on the nodes of one cluster. One of the same type that we did not write stays as it is."""

    settings: FaultConditionSettings
    api: KubernetesApi

    def begin(self, node: str, message: str) -> bool:
        """Report a node that is out as faulty. Returns whether that changed anything.

        Raises:
            PoolError: another controller writes this condition, or the API server does not show ours.
        """
        kind = self.settings.type

        def patch(present: KubernetesNode) -> Patch | None:
            found = present.condition(kind)
            if found is not None and not is_ours(found[1]):
                raise PoolError(
                    detail=f"another controller writes the condition {kind} of {node}",
                    hint="it stays as it is; choose another type in `condition` of `pool:`, or stop that controller on such nodes",
                )
            return self._patch(present, message, faulty=True) if present.is_out else None

        return self._write(node, patch, message, faulty=True)

    def end(self, node: str, message: str) -> bool:
        """Report that a node is not faulty any more, where we reported it as faulty. Raises as `begin`."""

        def patch(present: KubernetesNode) -> Patch | None:
            found = present.condition(self.settings.type)
            faulty = found is not None and is_ours(found[1]) and found[0] == str(self.settings.status)
            return self._patch(present, message, faulty=False) if faulty else None

        return self._write(node, patch, message, faulty=False)

    def _patch(self, present: KubernetesNode, message: str, *, faulty: bool) -> Patch | None:
        wanted = self.settings
        status = wanted.status is faulty
        if present.condition(wanted.type) == (str(status), message):
            return None
        reason = wanted.reason if faulty else "ClusterctlAdmitted"
        found = condition_patch(wanted.type, status=status, reason=reason, message=message, now=clock.now())
        return {"metadata": {"resourceVersion": present.version}, **found}

    def _write(self, node: str, patch: Callable[[KubernetesNode], Patch | None], message: str, *, faulty: bool) -> bool:
        if not self.api.change_status(node, patch):
            return False
        shown = self.api.node(node)
        if shown is None or shown.condition(self.settings.type) != (str(self.settings.status is faulty), message):
            raise PoolError(
                detail=f"the condition {self.settings.type} of {node} was set, and the API server does not show it",
                hint=f"`kubectl describe node {node}` shows who changes it",
            )
        return True
