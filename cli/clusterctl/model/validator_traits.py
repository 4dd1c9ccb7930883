"""What a validator module declares of itself: where its evidence comes from, and what the plan may conclude from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class EvidenceScope(StrEnum):
    """Where the evidence is: on the node; on it and in a comparison with the other nodes of its rack; in its BMC, which a node cannot reach."""

    NODE = "node"
    RACK = "rack"
    BMC = "bmc"


@dataclass(frozen=True, slots=True)
class RackRule:
    """What must be the same on all nodes of a group.

    Attributes:
        same: facts; `<role>.<fact>` is a check of each node, and its value is compared as `<role>.rack.<fact>`.
        by: the place that nodes of a group have in common: a field of `Place`.
        size: the variable with the number of nodes of a whole group; empty = the nodes of the inventory count.
        least: the variable with the number of nodes that must be known; empty = 2.
        hint: the next action where nodes differ.
        alike: checks, of any role, without their items; a `*` stands for any text. Where they fail alike on more than half of the nodes, what these share is
            at fault: `<role>.rack.<above>` fails on each of them, with the action `above_hint`.
    """

    same: tuple[str, ...]
    by: str = "rack"
    size: str = ""
    least: str = ""
    hint: str = ""
    alike: tuple[str, ...] = ()
    above: str = ""
    above_hint: str = ""


@dataclass(frozen=True, slots=True)
class ColdSetting:
    """A setting that some devices take at power-on only. `now` and `stored`: first and last part of the checks of both values."""

    now: tuple[str, str]
    stored: tuple[str, str]

    def stored_check(self, check: str) -> str:
        """The check of the stored value for a check of the value in force; empty if `check` is none."""
        first, last = self.now
        if not (check.startswith(first) and check.endswith(last) and len(check) > len(first) + len(last)):
            return ""
        return self.stored[0] + check[len(first) : len(check) - len(last)] + self.stored[1]


@dataclass(frozen=True, slots=True)
class VersionCheck:
    """A check whose `found` is a version, or another property, that the nodes of a scalable unit should share.

    Attributes:
        check: a `*` stands for the item.
        component: what has the version, for people and programs: `GPU VBIOS`.
        model: the check beside it whose `found` is the model of the part, with the same item; only equal parts are compared. `*` = the item is the model.
            Empty = all are equal.
    """

    check: str
    component: str
    model: str


@dataclass(frozen=True, slots=True)
class RoleTraits:
    """The declarations of one module.

    Attributes:
        asserts_only: its role changes nothing; it runs in company of others, so that a node with missing parts is not changed.
        asserted: of such a role, the checks, without their items, of what it asserts; a `*` stands for any text. It is started where one of them is bad. Empty =
            where any of its checks is.
        cold: its settings that a warm reboot may not bring.
        cold_links: links stay down while one of `cold` is not in force.
        about_others: checks about other nodes: no role changes them on this node, and the others have findings of their own.
        beyond_role: checks, without their items, whose failure its role does not mend, and asserts at most; a `*` stands for any text.
        left_by_role: checks, without their items, of what its role leaves on the node for the next boot or the package manager, rather than of what runs; a `*`
            stands for any text.
        after_boot: checks, without their items, that pass by themselves in the first minutes after a boot; a `*` stands for any text.
        running_kernel: its check of the kernel that runs: later roles build for the declared one, so that is booted first. Empty = it declares none.
        versions: its checks of versions, which burn-in compares inside a scalable unit.
        rack: what is compared; only with scope RACK.
    """

    scope: EvidenceScope = EvidenceScope.NODE
    asserts_only: bool = False
    asserted: tuple[str, ...] = ()
    cold: tuple[ColdSetting, ...] = ()
    cold_links: bool = False
    about_others: tuple[str, ...] = ()
    beyond_role: tuple[str, ...] = ()
    left_by_role: tuple[str, ...] = ()
    after_boot: tuple[str, ...] = ()
    running_kernel: str = ""
    versions: tuple[VersionCheck, ...] = ()
    rack: RackRule | None = None


_PLAIN = RoleTraits()


@dataclass(frozen=True, slots=True)
class ValidatorTraits:
    """The declarations of all validators. `by_role` lacks the roles whose validator declares nothing."""

    by_role: Mapping[str, RoleTraits] = field(default_factory=dict)

    def of(self, role: str) -> RoleTraits:
        """The declarations of the validator of a role."""
        return self.by_role.get(role, _PLAIN)

    def asserts_only(self, role: str) -> bool:
        """Whether the role changes nothing."""
        return self.of(role).asserts_only

    def by_bmc(self, role: str) -> bool:
        """Whether the controller checks the role, by the BMC."""
        return self.of(role).scope is EvidenceScope.BMC

    def about_others(self, role: str, check: str) -> bool:
        """Whether a check of the role is about other nodes."""
        return check in self.of(role).about_others

    @property
    def rack_rules(self) -> dict[str, RackRule]:
        """Role -> what is compared between nodes."""
        return {role: traits.rack for role, traits in self.by_role.items() if traits.rack}
