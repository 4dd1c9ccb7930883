"""The steps of a group: its launcher, the other members, and what all of them do after the run. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.planning.step import GateStep, Side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.gates.group_gate import GroupGate
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import RawRecord
    from clusterctl.model.level import Level

# The last rung of every ladder: all nodes that are joined.
ALL = "all"
LAUNCHER, MEMBER, AFTER = "group", "member", "ranks"
_MEMBER_MARGIN_S = 30
_AFTER_S = 60


def place_on(rung: str, subject: Subject) -> str | None:
    """The part of the site that a rung measures a node in; None where its inventory declares none."""
    place = subject.node.place
    parts = {"leaf": place.leaf or place.rack, "rack": place.rack, "scalable_unit": place.su}
    return "" if rung == ALL else parts[rung] or None


def rung_of(record: RawRecord) -> str:
    """The rung of a record; empty for the last one."""
    return record.step.partition(".")[2]


@dataclass(frozen=True, slots=True)
class GroupPlanner:
    """Plans one group on one rung; its first member is the launcher. `suffix` tells the step names of rungs apart."""

    gate: GroupGate[Any]
    members: Sequence[Subject]
    level: Level
    suffix: str

    def steps(self, member: Subject, batch: int, after: int) -> tuple[GateStep, ...]:
        """Those of one member."""
        lead = self.members[0]
        taking = member.name == lead.name or self.gate.member_argv
        first = (self._launcher(batch) if member.name == lead.name else self._member(member, batch),) if taking else ()
        return (*first, *((self._after(after),) if self.gate.after_argv else ()))

    def _launcher(self, batch: int) -> GateStep:
        settings = self.members[0].profile.settings_of(self.gate)
        others = tuple((m.name, m.address) for m in self.members[1:]) if self.gate.member_argv else ()
        return GateStep(
            gate=self.gate.name,
            name=LAUNCHER + self.suffix,
            tool=self.gate.tool,
            side=Side.SOLO,
            argv=self.gate.argv(settings, self.level, self.members),
            timeout_s=self.gate.limit_s(settings, self.level, self.members),
            batch=batch,
            peers=tuple(m.name for m in self.members),
            version_argv=self.gate.version_argv(settings),
            members=others,
            exclusive=True,
            shares_with=self.gate.shares_with(self.members[0]),
        )

    def _member(self, member: Subject, batch: int) -> GateStep:
        lead = self.members[0]
        settings = lead.profile.settings_of(self.gate)
        return GateStep(
            gate=self.gate.name,
            name=MEMBER + self.suffix,
            tool=self.gate.tool,
            side=Side.MEMBER,
            argv=self.gate.member_argv,
            timeout_s=self.gate.limit_s(settings, self.level, self.members) + _MEMBER_MARGIN_S,
            batch=batch,
            peer=lead.name,
            peer_address=lead.address,
            version_argv=self.gate.version_argv(settings),
            exclusive=True,
            shares_with=self.gate.shares_with(member),
        )

    def _after(self, batch: int) -> GateStep:
        settings = self.members[0].profile.settings_of(self.gate)
        return GateStep(
            gate=self.gate.name,
            name=AFTER + self.suffix,
            tool=self.gate.tool,
            side=Side.SOLO,
            argv=self.gate.after_argv,
            timeout_s=_AFTER_S,
            batch=batch,
            peer=self.members[0].name,
            version_argv=self.gate.version_argv(settings),
        )
