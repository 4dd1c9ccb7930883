"""The steps of a group: its launcher, the other members, and what all of them do after the run. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.planning.step import GateStep, Side

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clusterctl.core.gates.group_gate import GroupGate
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import RawRecord
    from clusterctl.model.level import Level

# The last rung of every ladder: all nodes that are joined.
ALL = "all"
# Every two nodes; where their number is odd, the last three.
PAIR = "pair"
# The last rung once more, without the nodes that a search found.
REST = "rest"
_SEARCH = "-search"
LAUNCHER, MEMBER, AFTER = "group", "member", "ranks"
_MEMBER_MARGIN_S = 30
_AFTER_S = 60


def place_on(rung: str, subject: Subject) -> str | None:
    """The part of the site that a rung measures a node in; None where its inventory declares none."""
    place = subject.node.place
    parts = {"leaf": place.switch, "rack": place.rack, "scalable_unit": place.su}
    return "" if rung in (ALL, REST) else parts[rung] or None


def search_rung(rung: str, number: int) -> str:
    """The rung of a level of the search in the groups of a rung, from 1 on."""
    return f"{rung or ALL}{_SEARCH}{number}"


def searched_rung(rung: str) -> str | None:
    """The rung in whose groups a level of a search was measured; None for other rungs."""
    origin, found, _ = rung.partition(_SEARCH)
    return ("" if origin == ALL else origin) if found else None


def rung_of(record: RawRecord) -> str:
    """The rung of a record; empty for the last one."""
    return record.step.partition("@")[0].partition(".")[2]


def variant_of(record: RawRecord) -> str:
    """The variant of a record's run; empty for the plain one."""
    return record.step.partition("@")[2]


def of_run(record: RawRecord, run: RawRecord, kind: str) -> bool:
    """Whether a record is the step `kind` of some node for a run."""
    if record.peer != run.node or not record.step.startswith(kind):  # first: every record is compared with every run
        return False
    return (rung_of(record), variant_of(record)) == (rung_of(run), variant_of(run))


def counting_for(leads: Sequence[RawRecord]) -> Iterator[tuple[RawRecord, frozenset[str]]]:
    """Each run with the nodes for which it counts: where a node spoiled one, that without it counts for the others."""
    for lead in leads:
        later = [r for r in leads if rung_of(r) == REST != rung_of(lead) and variant_of(r) == variant_of(lead)]
        yield lead, frozenset(lead.peers).difference(*(r.peers for r in later))


def in_pairs(subjects: Sequence[Subject]) -> dict[str, list[Subject]]:
    """The pairs of some nodes, by the names of both."""
    pairs = [list(subjects[i : i + 2]) for i in range(0, len(subjects), 2)]
    if len(pairs) > 1 and len(pairs[-1]) == 1:
        left = pairs.pop()
        pairs[-1] += left
    return {" ".join(s.name for s in pair): pair for pair in pairs}


def _step_name(kind: str, rung: str, variant: str) -> str:
    return kind + (f".{rung}" if rung else "") + (f"@{variant}" if variant else "")


@dataclass(frozen=True, slots=True)
class OwnCommand:
    """What one member of a group runs by itself, beside the others: the command is its own, and the program makes all begin together.

    Attributes:
        variant: the same for all members; empty where the group has one run.
        device: what of the node it measures; empty for all of it.
        rung: of the run; empty for the last one.
    """

    argv: tuple[str, ...]
    timeout_s: int
    version_argv: tuple[str, ...] = ()
    variant: str = ""
    device: str = ""
    rung: str = ""


def step_beside(gate: GroupGate[Any], members: Sequence[Subject], number: int, command: OwnCommand, batch: int) -> GateStep:
    """The step of one member where each runs its own command. The first waits for all others, and they for it."""
    lead, own, first = members[0], members[number], number == 0
    return GateStep(
        gate=gate.name,
        name=_step_name(LAUNCHER if first else MEMBER, command.rung, command.variant),
        tool=gate.tool,
        side=Side.SOLO,
        argv=command.argv,
        timeout_s=command.timeout_s,
        batch=batch,
        device=command.device,
        peer="" if first else lead.name,
        peer_address="" if first else lead.address,
        peers=tuple(m.name for m in members) if first else (),
        members=tuple((m.name, m.address) for m in members[1:]) if first else (),
        address=own.address,
        version_argv=command.version_argv,
        exclusive=True,
        shares_with=gate.shares_with(own),
    )


@dataclass(frozen=True, slots=True)
class GroupPlanner:
    """Plans one run of a group on one rung; its first member is the launcher.

    Attributes:
        settings: of the variant.
        limit_s: the time limit of the run.
        rung: as in the names of its steps; empty for the last one.
        variant: the same for several runs of a rung; empty for the plain one.
    """

    gate: GroupGate[Any]
    members: Sequence[Subject]
    level: Level
    settings: Any
    limit_s: int
    rung: str
    variant: str = ""

    def _name(self, kind: str) -> str:
        return _step_name(kind, self.rung, self.variant)

    def steps(self, member: Subject, batch: int, after: int) -> tuple[GateStep, ...]:
        """Those of one member."""
        lead = self.members[0]
        taking = member.name == lead.name or self.gate.member_argv
        first = (self._launcher(batch) if member.name == lead.name else self._member(member, batch),) if taking else ()
        return (*first, *((self._after(after),) if self.gate.after_argv else ()))

    def _launcher(self, batch: int) -> GateStep:
        settings = self.settings
        others = tuple((m.name, m.address) for m in self.members[1:]) if self.gate.member_argv else ()
        return GateStep(
            gate=self.gate.name,
            name=self._name(LAUNCHER),
            tool=self.gate.tool,
            side=Side.SOLO,
            argv=self.gate.variant_argv(settings, self.level, self.members, self.variant),
            timeout_s=self.limit_s,
            batch=batch,
            peers=tuple(m.name for m in self.members),
            version_argv=self.gate.version_argv(settings),
            members=others,
            address=self.members[0].address,
            exclusive=True,
            shares_with=self.gate.shares_with(self.members[0]),
        )

    def _member(self, member: Subject, batch: int) -> GateStep:
        lead = self.members[0]
        settings = self.settings
        return GateStep(
            gate=self.gate.name,
            name=self._name(MEMBER),
            tool=self.gate.tool,
            side=Side.MEMBER,
            argv=self.gate.member_argv,
            timeout_s=self.limit_s + _MEMBER_MARGIN_S,
            batch=batch,
            peer=lead.name,
            peer_address=lead.address,
            address=member.address,
            version_argv=self.gate.version_argv(settings),
            exclusive=True,
            shares_with=self.gate.shares_with(member),
        )

    def _after(self, batch: int) -> GateStep:
        settings = self.settings
        return GateStep(
            gate=self.gate.name,
            name=self._name(AFTER),
            tool=self.gate.tool,
            side=Side.SOLO,
            argv=self.gate.after_variant(self.variant),
            timeout_s=_AFTER_S,
            batch=batch,
            peer=self.members[0].name,
            version_argv=self.gate.version_argv(settings),
        )
