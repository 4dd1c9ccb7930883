"""A cause above the nodes of a group, where more than half of them fail alike. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterctl.core.check_names import ITEM, names_check
from clusterctl_validators.finding import Finding, Outcome, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.validator_traits import RackRule

# Fewer nodes that fail alike are not a pattern, however small the group: two of them are as likely two faults.
LEAST_NODES = 3

# The check with its items and what it found: the same GPU with the same links.
_Symptom = tuple[str, str]


@dataclass(frozen=True, slots=True)
class CauseAbove:
    """What the nodes of a group share.

    Attributes:
        check: the one that names the cause.
        nodes: symptom -> how many nodes have it, for those that more than half have.
        size: how many nodes the group has; stored: how many of those that are known are known from an earlier run.
    """

    check: str
    rule: RackRule
    nodes: Mapping[_Symptom, int]
    size: int
    stored: int

    def explained(self, member: NodeFindings) -> tuple[Finding, ...]:
        """The findings of a node: those of the cause fail as before, but recommend what mends it; one more names the cause."""
        own = [f for f in _bad(member, self.rule) if _symptom(f) in self.nodes]
        if not own:
            return member.findings
        behind = {f.check: replace(f, reason=self._reason(f), hint=self._refers(), above=self.check) for f in own}
        return (*(behind.get(f.check, f) for f in member.findings), self._cause(own))

    def _cause(self, own: Sequence[Finding]) -> Finding:
        found = "; ".join(dict.fromkeys(f"{ITEM.sub('[*]', f.check)}: {f.found}" for f in own))
        fewest = min(self.nodes[_symptom(f)] for f in own)
        role = self.check.partition(".")[0]
        known = f", {self.stored} of the others as stored" if self.stored else ""
        reason = f"the same on {fewest} of {self.size} nodes{known}: the cause is above them"
        return Finding(self.check, role, Outcome.FAIL, Severity.CRITICAL, "none", found, self.rule.above_hint, reason, above=self.check)

    def _reason(self, finding: Finding) -> str:
        return f"the same on {self.nodes[_symptom(finding)]} of {self.size} nodes: see {self.check}"

    def _refers(self) -> str:
        return f"do what {self.check} recommends; this node is not at fault"


def cause_above(role: str, rule: RackRule, members: Sequence[NodeFindings], others: Iterable[NodeFindings], size: int) -> CauseAbove | None:
    """The cause, where at least three nodes, which are more than half of a group of `size`, have a symptom; None where none is so frequent.

    `members`: the nodes of the target; `others`: what is stored of the others.
    """
    stored = tuple(others)
    seen = Counter(symptom for node in (*members, *stored) for symptom in {_symptom(f) for f in _bad(node, rule)})
    frequent = {symptom: count for symptom, count in seen.items() if count >= LEAST_NODES and count > size / 2}
    if not frequent:
        return None
    return CauseAbove(f"{role}.rack.{rule.above}", rule, frequent, size, len(stored))


def _bad(member: NodeFindings, rule: RackRule) -> list[Finding]:
    return [f for f in member.findings if f.outcome is Outcome.FAIL and names_check(rule.alike, f.check)]


def _symptom(finding: Finding) -> _Symptom:
    return finding.check, finding.found
