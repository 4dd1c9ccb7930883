"""What only the members of an NVLink domain together can show: that all of them are in the same one. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from clusterctl.model.findings import NodeStatus
from clusterctl_validators.finding import Finding, Outcome, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.node import Node

ROLE = "nvlink_domain"
_FACTS = ("cluster_uuid", "clique_id")
_HINT = "another tray of the rack says otherwise: see the partitions in NMX and the cables of the tray that is apart"
_NAMES_AT_MOST = 6

# Members that are not asked now -> what was found of them before, None where nothing that counts is stored.
Others = dict[str, "NodeFindings | None"]


class DomainRound:
    """Holds the answers of a domain's members back until all that are asked have answered, then compares them.

    `others`: domain -> its members that are not asked.
    """

    def __init__(self, nodes: Sequence[Node], others: Mapping[str, Others] | None = None) -> None:
        members = [n for n in nodes if ROLE in n.spec.roles]
        self._domain = {n.name: n.place.domain for n in members}
        self._specs = {n.name: n.spec.roles[ROLE] for n in members}
        self._others = others or {}
        self._left = Counter(self._domain.values())
        self._held: dict[str, list[NodeFindings]] = {}

    def answered(self, found: NodeFindings) -> tuple[NodeFindings, ...]:
        """The answers that are complete now: this one if its node is in no domain, none or the domain's, else."""
        domain = self._domain.get(found.node)
        if domain is None:
            return (found,)
        self._held.setdefault(domain, []).append(found)
        self._left[domain] -= 1
        if self._left[domain]:
            return ()
        return compared(self._held.pop(domain), self._specs, self._others.get(domain, {}))


def compared(members: Sequence[NodeFindings], specs: Mapping[str, Mapping[str, Any]], others: Others) -> tuple[NodeFindings, ...]:
    """The members' findings with `nvlink_domain.rack.<fact>` added.

    It fails where a member is not with the most of those that are known, on all where there is no most. It could not run where fewer members are
    known than `nvlink_domain_ready_min`: what is not known of the rack is no evidence. A member that gave no sound value is left alone here; its own
    check has said so.
    """
    added: dict[str, list[Finding]] = {m.node: [] for m in members}
    for fact in _FACTS:
        rack = _rack(fact, members, others)
        for node in (m.node for m in members if m.node in rack.said):
            added[node].append(_judged(fact, rack, node, specs[node]))
    return tuple(replace(m, findings=m.findings + tuple(added[m.node])) for m in members)


@dataclass(slots=True)
class _Rack:
    """What is known of one fact: node -> value, how many of those values were stored before, and why the others are missing -> their names."""

    said: dict[str, str] = field(default_factory=dict)
    stored: int = 0
    missing: dict[str, list[str]] = field(default_factory=dict)


def _rack(fact: str, members: Sequence[NodeFindings], others: Others) -> _Rack:
    rack = _Rack()
    for member in members:
        value = _sound(fact, member)
        if value is not None:
            rack.said[member.node] = value
        else:
            why = "gave no sound value" if member.status is NodeStatus.OK else "did not answer"
            rack.missing.setdefault(why, []).append(member.node)
    for node, before in others.items():
        value = _sound(fact, before) if before else None
        if value is not None:
            rack.said[node] = value
            rack.stored += 1
        else:
            why = "not asked, and no sound value is stored" if before else "not asked, and nothing that still counts is stored"
            rack.missing.setdefault(why, []).append(node)
    return rack


def _sound(fact: str, found: NodeFindings) -> str | None:
    """The value of a member; one that its own check refused (zero, several, none) must not make a majority."""
    return next((f.found for f in found.findings if f.check == f"{ROLE}.{fact}" and f.outcome is Outcome.PASS), None)


def _judged(fact: str, rack: _Rack, node: str, spec: Mapping[str, Any]) -> Finding:
    check, value, trays = f"{ROLE}.rack.{fact}", rack.said[node], int(spec["nvlink_domain_trays"])
    ranked = Counter(rack.said.values()).most_common(2)
    clear = len(ranked) == 1 or ranked[0][1] > ranked[1][1]
    stored = f", {rack.stored} of them as stored" if rack.stored else ""
    if not clear or value != ranked[0][0]:
        most = (
            f"{ranked[0][0]}, as {ranked[0][1]} of {len(rack.said)}"
            if clear
            else f"one value, found {len(set(rack.said.values()))} of equal weight"
        )
        hint = f"{_HINT}; stored values may be old: `clusterctl validate` the whole rack" if rack.stored else _HINT
        return Finding(check, ROLE, Outcome.FAIL, Severity.CRITICAL, most + stored, value, hint)
    needed = max(int(spec["nvlink_domain_ready_min"]), min(2, trays))
    if len(rack.said) >= needed:
        return Finding(check, ROLE, Outcome.PASS, Severity.CRITICAL, f"{value}, as {len(rack.said)} of {trays} trays{stored}", value, _HINT)
    known = f"{len(rack.said)} of {trays} trays known{stored}, {needed} needed: {'; '.join(_missing(rack, trays))}"
    if spec[f"{ROLE}_{fact}"]:
        return Finding(check, ROLE, Outcome.NOT_APPLICABLE, Severity.CRITICAL, reason=f"{ROLE}_{fact} pins it for every tray; {known}")
    hint = (
        f"`clusterctl validate` the whole rack and see to the trays named; a rack with a tray out: {ROLE}_ready_min; or pin {ROLE}_{fact}"
    )
    return Finding(check, ROLE, Outcome.COULD_NOT_RUN, Severity.CRITICAL, hint=hint, reason=known)


def _missing(rack: _Rack, trays: int) -> Iterator[str]:
    for why, names in rack.missing.items():
        more = f" and {len(names) - _NAMES_AT_MOST} more" if len(names) > _NAMES_AT_MOST else ""
        yield f"{', '.join(names[:_NAMES_AT_MOST])}{more} {why}"
    strangers = trays - len(rack.said) - sum(map(len, rack.missing.values()))
    if strangers > 0:
        yield f"{strangers} not asked, and not in the inventory"
