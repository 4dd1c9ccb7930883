"""Parts of a node that something else owns: an image, an operator of Kubernetes, the vendor's OS. Their roles are verified, never applied. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterctl.core.check_names import names_check
from clusterctl.core.repairs import is_of_role, repair_of_check
from clusterctl_validators.finding import GOOD, Finding, Outcome, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.node import NodeSpec
    from clusterctl.model.validator_traits import ValidatorTraits

KEPT = ".kept_over_boot"
_EXPECTED = "a root file system that a boot keeps"
_TO_IMAGE = (
    "what the role {role} sets is gone at the next boot: put it into the image of the node, then declare that in roles_owned_elsewhere"
)


@dataclass(frozen=True, slots=True)
class Owner:
    """What owns a role's part of a node.

    Attributes:
        name: for people: `the GPU Operator`.
        change: how it is changed there: the next action where the part is not as declared.
    """

    name: str
    change: str


def owners_of(spec: NodeSpec) -> Mapping[str, Owner]:
    """Role -> its owner, of the roles that are owned elsewhere."""
    return {one["role"]: Owner(one["owner"], one["change"]) for one in spec.owners}


def judge_ownership(found: NodeFindings, spec: NodeSpec, traits: ValidatorTraits) -> tuple[Finding, ...]:
    """The findings of a node with those of owned roles marked, and with one for each role whose settings no boot keeps.

    Of an owned role counts what runs. What its role would have left for the next boot does not apply, unless the role has no other finding.
    """
    owners = owners_of(spec)
    if not owners and not found.volatile_root:
        return found.findings
    by_role: dict[str, list[Finding]] = {}
    for finding in found.findings:
        by_role.setdefault(finding.role, []).append(finding)
    marked = {role: _of_owner(by_role.get(role, []), owner, traits) for role, owner in owners.items()}
    lost = _not_kept(by_role, {*owners}, traits, found.volatile_root) if found.volatile_root else ()
    return (*(f for role, own in by_role.items() for f in marked.get(role, own)), *lost)


def never_applied(spec: NodeSpec, findings: NodeFindings) -> frozenset[str]:
    """The roles that are not to be applied on a node: owned elsewhere, or set where no boot keeps it."""
    return frozenset(one["role"] for one in spec.owners) | {f.role for f in findings.findings if is_not_kept(f.check)}


def is_not_kept(check: str) -> bool:
    """Whether a check is about what the next boot keeps; no role mends that."""
    return check.endswith(KEPT)


def _of_owner(findings: list[Finding], owner: Owner, traits: ValidatorTraits) -> list[Finding]:
    left = [names_check(traits.of(f.role).left_by_role, f.check) for f in findings]
    proven = any(not one and f.outcome is not Outcome.NOT_APPLICABLE for f, one in zip(findings, left, strict=True))
    return [_marked(f, owner, left_by_role=one and proven) for f, one in zip(findings, left, strict=True)]


def _marked(finding: Finding, owner: Owner, *, left_by_role: bool) -> Finding:
    if left_by_role and finding.outcome is not Outcome.NOT_APPLICABLE:
        reason = f"owned by {owner.name}: only what runs is checked"
        return Finding(finding.check, finding.role, Outcome.NOT_APPLICABLE, finding.severity, reason=reason, owner=owner.name)
    if finding.outcome in GOOD or not is_of_role(repair_of_check(finding.above or finding.check, finding.found, finding.outcome)):
        return replace(finding, owner=owner.name)
    return replace(finding, owner=owner.name, hint=f"{owner.name} owns this part of NODE: {owner.change}")


def _not_kept(by_role: Mapping[str, list[Finding]], owned: set[str], traits: ValidatorTraits, root: str) -> Iterator[Finding]:
    for role, findings in by_role.items():
        idle = all(f.outcome is Outcome.NOT_APPLICABLE for f in findings)
        if not (idle or role in owned or traits.asserts_only(role) or traits.by_bmc(role)):
            hint = _TO_IMAGE.format(role=role)
            yield Finding(role + KEPT, role, Outcome.FAIL, Severity.MAJOR, _EXPECTED, root, hint)
