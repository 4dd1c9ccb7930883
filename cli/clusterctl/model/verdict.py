"""The decision on one node, and the reasons behind it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from clusterctl.model.exit_codes import ExitCode, worst
from clusterctl.model.repair import NO_REPAIR, Component, NextAction, Repair

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.model.state import State


class ReasonKind(StrEnum):
    """What kept a node out.

    REFUSED: the evidence is good, but its state or its pool prevents it. POOL_UNKNOWN: it is unknown whether the pool has it.
    CHECK_SHARED, GATE_SHARED: a check or gate failed for a cause above the node, which others have, too.
    CHECK_WARNED, GATE_WARNED: notes, never reasons. PERSON: a person took it out; no verdict has it, nor is it a cause.
    """

    UNREACHABLE = "unreachable"
    ROLE_FAILED = "role_failed"
    ROLES_MISSING = "roles_missing"
    CHECK_FAILED = "check_failed"
    CHECK_SHARED = "check_shared"
    CHECK_COULD_NOT_RUN = "check_could_not_run"
    CHECKS_MISSING = "checks_missing"
    GATE_FAILED = "gate_failed"
    GATE_SHARED = "gate_shared"
    GATE_COULD_NOT_RUN = "gate_could_not_run"
    GATE_MISSING = "gate_missing"
    REFUSED = "refused"
    POOL_UNKNOWN = "pool_unknown"
    CHECK_WARNED = "check_warned"
    GATE_WARNED = "gate_warned"
    PERSON = "person"


K = ReasonKind
EXIT_CODES: dict[ReasonKind, ExitCode] = {
    K.UNREACHABLE: ExitCode.UNREACHABLE,
    K.ROLE_FAILED: ExitCode.ROLE_FAILED,
    K.ROLES_MISSING: ExitCode.VALIDATOR_FAILED,
    K.CHECK_FAILED: ExitCode.VALIDATOR_FAILED,
    K.CHECK_SHARED: ExitCode.VALIDATOR_FAILED,
    K.CHECK_COULD_NOT_RUN: ExitCode.VALIDATOR_FAILED,
    K.CHECKS_MISSING: ExitCode.VALIDATOR_FAILED,
    K.GATE_FAILED: ExitCode.GATE_FAILED,
    K.GATE_SHARED: ExitCode.GATE_FAILED,
    K.GATE_COULD_NOT_RUN: ExitCode.GATE_FAILED,
    K.GATE_MISSING: ExitCode.GATE_FAILED,
    K.REFUSED: ExitCode.CONFIG,
    K.POOL_UNKNOWN: ExitCode.CHANGES_PENDING,
    K.CHECK_WARNED: ExitCode.OK,
    K.GATE_WARNED: ExitCode.OK,
    K.PERSON: ExitCode.CHANGES_PENDING,
}


_BY_KIND = {
    K.UNREACHABLE: Repair(Component.NODE, NextAction.RESTORE_ACCESS),
    K.ROLES_MISSING: Repair(Component.CONFIGURATION, NextAction.PROVISION),
    K.GATE_MISSING: Repair(None, NextAction.MEASURE_AGAIN),
}


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that keeps a node out, or (as a note) that was seen and does not.

    Attributes:
        text: what, found and expected, with the source of the expectation.
        device: the GPU or HCA concerned; empty where it is the whole node.
        hint: what to do next.
        repair: which part it is about, and what to do first.
        item: the gate, check or role concerned, or what a person states: `rdma_pair`, `hugepages.pages[1G].running`; empty where it is none of them.
    """

    kind: ReasonKind
    text: str
    device: str = ""
    hint: str = ""
    item: str = ""
    repair: Repair = NO_REPAIR

    @property
    def code(self) -> str:
        """What it is about, for programs: `gate.rdma_pair`, `check.gpu.count`, `role.ofed`, `person.fan`; the kind alone where no item is named, `unreachable`."""
        return f"{self.kind.value.split('_', 1)[0].removesuffix('s')}.{self.item}" if self.item else self.kind.value

    @property
    def first_repair(self) -> Repair:
        """With what its kind states by itself."""
        return self.repair.or_else(_BY_KIND.get(self.kind, NO_REPAIR))

    def to_json(self) -> dict[str, str]:
        """As every document shows it."""
        return {
            "kind": self.kind.value,
            "code": self.code,
            "text": self.text,
            "device": self.device,
            **self.first_repair.to_json(),
            "hint": self.hint,
        }


@dataclass(frozen=True, slots=True)
class NodeVerdict:
    """The decision on one node.

    Attributes:
        state: `burned_in` where it may be admitted, else `quarantined`.
        reasons: what keeps it out, the most significant first; empty exactly when `admit`.
        notes: minor findings and warnings that are recorded and do not keep it out.
    """

    node: str
    admit: bool
    state: State
    reasons: tuple[Reason, ...]
    notes: tuple[Reason, ...] = ()

    @property
    def summary(self) -> str:
        """The first reason, and how many more there are: the text of a quarantine."""
        if not self.reasons:
            return ""
        more = len(self.reasons) - 1
        return self.reasons[0].text + (f" (and {more} more)" if more else "")


@dataclass(frozen=True, slots=True)
class Admission:
    """What became of a candidate; `verdict.admit`: whether it is admitted now."""

    verdict: NodeVerdict
    from_state: State


def admissions_exit_code(admissions: Iterable[Admission]) -> ExitCode:
    """0 where all are admitted, else the worst of what keeps nodes out."""
    return worst([EXIT_CODES[r.kind] for a in admissions for r in a.verdict.reasons] or [ExitCode.OK])
