"""What only the members of an NVLink domain together can show: that all of them are in the same one. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl_validators.finding import Finding, Outcome, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.findings import NodeFindings
    from clusterctl.node import Node

ROLE = "nvlink_domain"
_FACTS = ("cluster_uuid", "clique_id")
# a value that its own check refused (zero, several, none) must not make a majority
_SOUND = (Outcome.PASS, Outcome.WAIVED)
_HINT = "another tray of the rack says otherwise: see the partitions in NMX and the cables of the tray that is apart"


class DomainRound:
    """Holds the answers of a domain's members back until all that are asked have answered, then compares them."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._domain = {n.name: n.place.nvlink_domain or n.place.rack for n in nodes if ROLE in n.spec.roles}
        self._left = Counter(self._domain.values())
        self._held: dict[str, list[NodeFindings]] = {}

    def answered(self, found: NodeFindings) -> tuple[NodeFindings, ...]:
        """The answers that are complete now: this one if its node is in no domain, none or the domain's, else."""
        domain = self._domain.get(found.node)
        if domain is None:
            return (found,)
        self._held.setdefault(domain, []).append(found)
        self._left[domain] -= 1
        return compared(self._held.pop(domain)) if not self._left[domain] else ()


def compared(members: Sequence[NodeFindings]) -> tuple[NodeFindings, ...]:
    """The members' findings with `nvlink_domain.rack.<fact>` added: fails where a member is not with the most of them, all where there is no most.

    A member that gave no sound value is left alone here; its own check has said so.
    """
    added: dict[str, list[Finding]] = {m.node: [] for m in members}
    for fact in _FACTS:
        said = {m.node: f.found for m in members for f in m.findings if f.check == f"{ROLE}.{fact}" and f.outcome in _SOUND}
        for node, finding in _judged(fact, said).items():
            added[node].append(finding)
    return tuple(replace(m, findings=m.findings + tuple(added[m.node])) for m in members)


def _judged(fact: str, said: Mapping[str, str]) -> dict[str, Finding]:
    check = f"{ROLE}.rack.{fact}"
    if len(said) == 1:
        reason = "no other member of the domain was asked; IMEX shows its connections to them"
        return {node: Finding(check, ROLE, Outcome.NOT_APPLICABLE, Severity.MINOR, reason=reason) for node in said}
    ranked = Counter(said.values()).most_common(2)
    most = ranked[0][0] if ranked and (len(ranked) == 1 or ranked[0][1] > ranked[1][1]) else None
    expected = (
        f"{most}, as {ranked[0][1]} of {len(said)}" if most is not None else f"one value, found {len(set(said.values()))} of equal weight"
    )
    return {
        node: Finding(check, ROLE, Outcome.PASS if value == most else Outcome.FAIL, Severity.CRITICAL, expected, value, _HINT)
        for node, value in said.items()
    }
