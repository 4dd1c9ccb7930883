"""Compare the members of an NVLink domain: all must report the same one. Pure."""

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
_HINT = "the trays of the rack disagree: check the partitions in NMX and the cables of the differing tray"
_NAMES_AT_MOST = 6

# members outside the target -> their stored findings; None = nothing valid is stored
Others = dict[str, "NodeFindings | None"]


class DomainRound:
    """Collects the results of a domain's members and compares them when the last one in the target is in.

    `others`: domain -> its members outside the target.
    """

    def __init__(self, nodes: Sequence[Node], others: Mapping[str, Others] | None = None) -> None:
        members = [n for n in nodes if ROLE in n.spec.roles]
        self._domain = {n.name: n.place.domain for n in members}
        self._specs = {n.name: n.spec.roles[ROLE] for n in members}
        self._others = others or {}
        self._pending = Counter(self._domain.values())
        self._collected: dict[str, list[NodeFindings]] = {}

    def add(self, found: NodeFindings) -> tuple[NodeFindings, ...]:
        """The results that are now complete: this one for a node in no domain; else nothing, or with the last member those of the whole domain."""
        domain = self._domain.get(found.node)
        if domain is None:
            return (found,)
        self._collected.setdefault(domain, []).append(found)
        self._pending[domain] -= 1
        if self._pending[domain]:
            return ()
        return compared(self._collected.pop(domain), self._specs, self._others.get(domain, {}))


def compared(members: Sequence[NodeFindings], specs: Mapping[str, Mapping[str, Any]], others: Others) -> tuple[NodeFindings, ...]:
    """The members' findings with `nvlink_domain.rack.<fact>` added.

    It fails on a member whose value is not that of the majority of known values, and on all members where there is no majority. It could not run where
    fewer values are known than `nvlink_domain_ready_min`: an unknown value is no evidence. A member without a valid value gets no finding here; its
    own check has reported that.
    """
    added: dict[str, list[Finding]] = {m.node: [] for m in members}
    for fact in _FACTS:
        rack = _rack(fact, members, others)
        for node in (m.node for m in members if m.node in rack.values):
            added[node].append(_compare(fact, rack, node, specs[node]))
    return tuple(replace(m, findings=m.findings + tuple(added[m.node])) for m in members)


@dataclass(slots=True)
class _Rack:
    """What is known about one fact.

    Attributes:
        values: node -> value.
        stored: how many of the values are from an earlier run.
        missing: reason -> the nodes without a value.
    """

    values: dict[str, str] = field(default_factory=dict)
    stored: int = 0
    missing: dict[str, list[str]] = field(default_factory=dict)


def _rack(fact: str, members: Sequence[NodeFindings], others: Others) -> _Rack:
    rack = _Rack()
    for member in members:
        value = _valid_value(fact, member)
        if value is not None:
            rack.values[member.node] = value
        else:
            why = "reported no valid value" if member.status is NodeStatus.OK else "did not answer"
            rack.missing.setdefault(why, []).append(member.node)
    for node, before in others.items():
        value = _valid_value(fact, before) if before else None
        if value is not None:
            rack.values[node] = value
            rack.stored += 1
        else:
            why = "not in the target, and no valid value is stored" if before else "not in the target, and nothing valid is stored"
            rack.missing.setdefault(why, []).append(node)
    return rack


def _valid_value(fact: str, found: NodeFindings) -> str | None:
    """The value of a member; one that failed its own check (zero, several, none) must not count towards a majority."""
    return next((f.found for f in found.findings if f.check == f"{ROLE}.{fact}" and f.outcome is Outcome.PASS), None)


def _compare(fact: str, rack: _Rack, node: str, spec: Mapping[str, Any]) -> Finding:
    check, value, trays = f"{ROLE}.rack.{fact}", rack.values[node], int(spec["nvlink_domain_trays"])
    ranked = Counter(rack.values.values()).most_common(2)
    clear = len(ranked) == 1 or ranked[0][1] > ranked[1][1]
    stored = f", {rack.stored} of them as stored" if rack.stored else ""
    if not clear or value != ranked[0][0]:
        most = (
            f"{ranked[0][0]}, as {ranked[0][1]} of {len(rack.values)}"
            if clear
            else f"one value, found {len(set(rack.values.values()))} equally often"
        )
        hint = f"{_HINT}; stored values may be outdated: run `clusterctl validate` on the whole rack" if rack.stored else _HINT
        return Finding(check, ROLE, Outcome.FAIL, Severity.CRITICAL, most + stored, value, hint)
    needed = max(int(spec["nvlink_domain_ready_min"]), min(2, trays))
    if len(rack.values) >= needed:
        return Finding(
            check, ROLE, Outcome.PASS, Severity.CRITICAL, f"{value}, as {len(rack.values)} of {trays} trays{stored}", value, _HINT
        )
    known = f"{len(rack.values)} of {trays} trays known{stored}, {needed} needed: {'; '.join(_missing(rack, trays))}"
    if spec[f"{ROLE}_{fact}"]:
        return Finding(
            check, ROLE, Outcome.NOT_APPLICABLE, Severity.CRITICAL, reason=f"{ROLE}_{fact} pins the value for every tray; {known}"
        )
    hint = f"run `clusterctl validate` on the whole rack and check the named trays; if a tray is out of service, set {ROLE}_ready_min; or pin {ROLE}_{fact}"
    return Finding(check, ROLE, Outcome.COULD_NOT_RUN, Severity.CRITICAL, hint=hint, reason=known)


def _missing(rack: _Rack, trays: int) -> Iterator[str]:
    for why, names in rack.missing.items():
        more = f" and {len(names) - _NAMES_AT_MOST} more" if len(names) > _NAMES_AT_MOST else ""
        yield f"{', '.join(names[:_NAMES_AT_MOST])}{more} {why}"
    unknown = trays - len(rack.values) - sum(map(len, rack.missing.values()))
    if unknown > 0:
        yield f"{unknown} not in the inventory"
