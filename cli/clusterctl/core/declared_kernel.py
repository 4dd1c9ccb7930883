"""Whether a node runs the kernel that is declared for it. Drivers are built for the running kernel, and removed kernels take theirs with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.model.findings import NodeStatus
from clusterctl_validators.finding import Outcome

if TYPE_CHECKING:
    from clusterctl.model.findings import NodeFindings

KERNEL_ROLE = "kernel"
_CHECK = "kernel.release.running"


def runs_another_kernel(findings: NodeFindings) -> bool:
    """Whether a check has seen that the node runs another kernel than the declared one."""
    return any(f.check == _CHECK and f.outcome is Outcome.FAIL for f in findings.findings)


def may_run_another_kernel(findings: NodeFindings) -> bool:
    """As `runs_another_kernel`, or no check could see which one runs."""
    unknown = any(f.check == _CHECK and f.outcome is Outcome.COULD_NOT_RUN for f in findings.findings)
    return unknown or findings.status is not NodeStatus.OK or runs_another_kernel(findings)


def split_at_kernel(roles: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The roles up to the role kernel, and those after it; without it, all come after."""
    at = roles.index(KERNEL_ROLE) + 1 if KERNEL_ROLE in roles else 0
    return roles[:at], roles[at:]
