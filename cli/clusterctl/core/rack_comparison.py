"""Compare the nodes of a rack, or of another group of places: what a validator of scope `rack` names must be the same on all of them. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from clusterctl.core.rack_causes import cause_above
from clusterctl.model.findings import NodeStatus
from clusterctl.model.running_text import first_of
from clusterctl_validators.finding import Finding, Outcome, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.node import Node, Place
    from clusterctl.model.validator_traits import RackRule

_NAMES_AT_MOST = 6
_LEAST = 2

# nodes of the group outside the target -> their stored findings; None = nothing valid is stored
Others = dict[str, "NodeFindings | None"]


class Group(NamedTuple):
    """The nodes with one role at one place."""

    role: str
    place: str


def group_of(rule: RackRule, role: str, place: Place) -> Group:
    """The group of a node with that role; by NVLink domain, the rack counts where no domain is declared."""
    return Group(role, place.domain if rule.by == "nvlink_domain" else str(getattr(place, rule.by)))


class RackRound:
    """Collects the results of nodes, and compares those of a group when the last one in the target is in.

    `others`: group -> its nodes outside the target.
    """

    def __init__(self, nodes: Sequence[Node], rules: Mapping[str, RackRule], others: Mapping[Group, Others] | None = None) -> None:
        self._rules, self._others = rules, others or {}
        groups = {n.name: [group_of(rules[r], r, n.place) for r in n.spec.roles if r in rules] for n in nodes}
        self._groups = {name: theirs for name, theirs in groups.items() if theirs}
        self._specs = {n.name: n.spec.roles for n in nodes}
        self._members: dict[Group, list[str]] = {}
        for name, own in self._groups.items():
            for group in own:
                self._members.setdefault(group, []).append(name)
        self._pending = {group: set(names) for group, names in self._members.items()}
        self._collected: dict[str, NodeFindings] = {}

    def add(self, found: NodeFindings) -> tuple[NodeFindings, ...]:
        """The results that are now complete: this one for a node in no group; else those whose groups are all in, or nothing."""
        if found.node not in self._groups:
            return (found,)
        self._collected[found.node] = found
        waiting = [found.node]
        for group in self._groups[found.node]:
            self._pending[group].discard(found.node)
            if not self._pending[group]:
                self._compare(group)
                waiting += self._members[group]
        complete = [n for n in dict.fromkeys(sorted(waiting)) if not any(self._pending[g] for g in self._groups[n])]
        return tuple(self._collected.pop(n) for n in complete)

    def _compare(self, group: Group) -> None:
        names = self._members[group]
        specs = {n: self._specs[n][group.role] for n in names}
        members = [self._collected[n] for n in names]
        rule, others = self._rules[group.role], self._others.get(group, {})
        self._collected.update({m.node: m for m in compared(group.role, rule, members, specs, others)})


def compared(
    role: str, rule: RackRule, members: Sequence[NodeFindings], specs: Mapping[str, Mapping[str, Any]], others: Others
) -> tuple[NodeFindings, ...]:
    """The members' findings with `<role>.rack.<fact>` added; `specs`: node -> the variables of the role.

    It fails on a member whose value is not that of the majority of known values, and on all members where there is no majority. It could not run where
    fewer values are known than the rule's `least`: an unknown value is not evidence. A member without a valid value gets no finding here; its
    own check has reported that. What fails alike on more than half of the group gets a finding that names the cause, see `cause_above`.
    """
    added: dict[str, list[Finding]] = {m.node: [] for m in members}
    for fact in rule.same:
        rack = _rack(f"{role}.{fact}", members, others)
        for node in (m.node for m in members if m.node in rack.values):
            added[node].append(_Comparison(role, rule, fact, rack, specs[node]).finding(node))
    known = [found for found in others.values() if found]
    sizes = {int(specs[m.node][rule.size]) for m in members} if rule.size else set()
    above = cause_above(role, rule, members, known, max((len(members) + len(others), *sizes)))
    own = {m.node: above.explained(m) if above else m.findings for m in members}
    return tuple(replace(m, findings=own[m.node] + tuple(added[m.node])) for m in members)


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

    @property
    def seen(self) -> int:
        """The nodes of the group that the inventory has."""
        return len(self.values) + sum(map(len, self.missing.values()))


def _rack(check: str, members: Sequence[NodeFindings], others: Others) -> _Rack:
    rack = _Rack()
    for member in members:
        value = _valid_value(check, member)
        if value is not None:
            rack.values[member.node] = value
        else:
            why = "reported no valid value" if member.status is NodeStatus.OK else "did not answer"
            rack.missing.setdefault(why, []).append(member.node)
    for node, before in others.items():
        value = _valid_value(check, before) if before else None
        if value is not None:
            rack.values[node] = value
            rack.stored += 1
        else:
            why = "not in the target, and no valid value is stored" if before else "not in the target, and nothing valid is stored"
            rack.missing.setdefault(why, []).append(node)
    return rack


def _valid_value(check: str, found: NodeFindings) -> str | None:
    """The value of a member; one that failed its own check (zero, several, none) must not count towards a majority."""
    return next((f.found for f in found.findings if f.check == check and f.outcome is Outcome.PASS), None)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """One fact, seen by a node whose role has the variables `spec`."""

    role: str
    rule: RackRule
    fact: str
    rack: _Rack
    spec: Mapping[str, Any]

    @property
    def _size(self) -> int:
        return int(self.spec[self.rule.size]) if self.rule.size else self.rack.seen

    @property
    def _needed(self) -> int:
        least = int(self.spec[self.rule.least]) if self.rule.least else _LEAST
        return max(least, min(_LEAST, self._size))

    def finding(self, node: str) -> Finding:
        rack, value, check = self.rack, self.rack.values[node], f"{self.role}.rack.{self.fact}"
        ranked = Counter(rack.values.values()).most_common(2)
        clear = len(ranked) == 1 or ranked[0][1] > ranked[1][1]
        stored = f", {rack.stored} of them as stored" if rack.stored else ""
        if not clear or value != ranked[0][0]:
            most = f"{ranked[0][0]}, as {ranked[0][1]} of {len(rack.values)}"
            expected = most if clear else f"one value, found {len(set(rack.values.values()))} equally often"
            return Finding(check, self.role, Outcome.FAIL, Severity.CRITICAL, expected + stored, value, self._hint())
        if len(rack.values) >= self._needed:
            expected = f"{value}, as {len(rack.values)} of {self._size} nodes{stored}"
            return Finding(check, self.role, Outcome.PASS, Severity.CRITICAL, expected, value)
        known = f"{len(rack.values)} of {self._size} nodes known{stored}, {self._needed} needed: {'; '.join(self._missing())}"
        pin = f"{self.role}_{self.fact}"
        if self.spec.get(pin):
            reason = f"{pin} pins the value for every node; {known}"
            return Finding(check, self.role, Outcome.NOT_APPLICABLE, Severity.CRITICAL, reason=reason)
        return Finding(check, self.role, Outcome.COULD_NOT_RUN, Severity.CRITICAL, hint=self._next_action(pin), reason=known)

    def _hint(self) -> str:
        differ = self.rule.hint or "the nodes disagree: check those that differ"
        outdated = "stored values may be outdated: run `clusterctl validate` on the whole rack"
        return f"{differ}; {outdated}" if self.rack.stored else differ

    def _next_action(self, pin: str) -> str:
        hint = "run `clusterctl validate` on the whole rack and check the named nodes"
        hint += f"; if a node is out of service, set {self.rule.least}" if self.rule.least else ""
        return hint + (f"; or pin {pin}" if pin in self.spec else "")

    def _missing(self) -> Iterator[str]:
        for why, names in self.rack.missing.items():
            yield f"{first_of(names, _NAMES_AT_MOST)} {why}"
        unknown = self._size - self.rack.seen
        if unknown > 0:
            yield f"{unknown} not in the inventory"
