"""Whether a node runs the kernel that is declared for it. Drivers are built for the running kernel, and removed kernels take theirs with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.model.findings import NodeStatus
from clusterctl_validators.finding import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.node import Node
    from clusterctl.model.validator_traits import ValidatorTraits

_PROFILE = "profile_"


def runs_another_kernel(findings: NodeFindings, traits: ValidatorTraits) -> bool:
    """Whether a check has seen that the node runs another kernel than the declared one."""
    return _has(findings, traits, Outcome.FAIL)


def may_run_another_kernel(findings: NodeFindings, traits: ValidatorTraits) -> bool:
    """As `runs_another_kernel`, or no check could see which one runs."""
    unknown = _has(findings, traits, Outcome.COULD_NOT_RUN)
    return unknown or findings.status is not NodeStatus.OK or runs_another_kernel(findings, traits)


def bring_kernels(roles: Iterable[str], traits: ValidatorTraits) -> bool:
    """Whether one of these roles declares the kernel of a node."""
    return any(traits.of(r).running_kernel for r in roles)


def split_at_kernel(roles: tuple[str, ...], traits: ValidatorTraits) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The roles up to the one that declares the kernel, and those after it; without it, all come after."""
    at = max((i for i, r in enumerate(roles, 1) if traits.of(r).running_kernel), default=0)
    return roles[:at], roles[at:]


def kernel_class(node: Node, traits: ValidatorTraits) -> tuple[str, ...]:
    """What nodes share that boot one kernel alike: the declared release (`<role>_release`) and the profiles. Empty if none is declared."""
    releases = [variables.get(f"{role}_release") for role, variables in node.spec.roles.items() if traits.of(role).running_kernel]
    declared = [str(r) for r in releases if r]
    return (*declared, *sorted(g for g in node.groups if g.startswith(_PROFILE))) if declared else ()


def first_of_classes(
    booting: Iterable[Node], others: Iterable[Node], findings: Mapping[str, NodeFindings], traits: ValidatorTraits
) -> dict[str, str]:
    """Node that boots a kernel new to its class -> the node of the class that boots it first, which may be itself.

    Left out are nodes of a class of which one of `others` runs it already, and those that declare no release.
    """
    proven = {kernel_class(n, traits) for n in others if n.name in findings and _has(findings[n.name], traits, Outcome.PASS)}
    firsts: dict[tuple[str, ...], str] = {}
    found = {}
    for node in booting:
        shared = kernel_class(node, traits)
        if shared and shared not in proven:
            found[node.name] = firsts.setdefault(shared, node.name)
    return found


def _has(findings: NodeFindings, traits: ValidatorTraits, outcome: Outcome) -> bool:
    return any(f.outcome is outcome and f.check == traits.of(f.role).running_kernel for f in findings.findings)
