"""What the store returns: frozen records without SQLAlchemy."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.model.holder import Holder
    from clusterctl.model.state import State
    from clusterctl.model.verdict import ReasonKind


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """The record of a node. Times are UTC, ISO 8601.

    Attributes:
        groups: its inventory groups, nearest last.
        reason: why it is in this state.
        reason_code: what took it out, `Reason.code`; empty where nobody and nothing did, and before 0014.
        component, component_name, next_action: the part that this is about and what to do first (`Repair`); empty where it is not stated, and before 0019.
        spec_digest: the declared state that was last applied (provisioned, admitted ...).
        declared_digest: the declared state when a run that held the node last read the inventory; differs from `spec_digest` when it changed since.
        last_run: id of the last run that included it.
        since: when it entered its state.
        owner: the person who drained or quarantined it; it stays out until it is released or explicitly included. Empty = nobody.
        leaf, spine, nvlink_domain: where it is in the fabric, as its inventory declares it; empty where it does not. So it was before 0013, until a run reads it again.
        epoch: counts how often its evidence was voided; evidence counts only in the epoch in which it was gathered.
    """

    name: str
    rack: str
    slot: int
    groups: tuple[str, ...]
    state: State
    reason: str
    spec_digest: str
    last_run: str
    since: str
    profile: str
    declared_digest: str = ""
    epoch: int = 0
    owner: str = ""
    leaf: str = ""
    spine: str = ""
    nvlink_domain: str = ""
    reason_code: str = ""
    component: str = ""
    component_name: str = ""
    next_action: str = ""

    @property
    def spec_moved_on(self) -> bool:
        """Whether the declared state changed since it was last applied."""
        return bool(self.spec_digest and self.declared_digest and self.spec_digest != self.declared_digest)


@dataclass(frozen=True, slots=True)
class TransitionRow:
    """One transition of one node. `epoch` is the node's after it; `cause` is why a run or a policy took it out, None for all others and before 0010.

    `reason_code`, `component`, `component_name` and `next_action` are about what was found, as those of a `NodeRecord`.
    """

    id: int
    node: str
    run_id: str
    operator: str
    from_state: State
    to_state: State
    reason: str
    spec_digest: str
    at: str
    epoch: int
    cause: ReasonKind | None = None
    reason_code: str = ""
    component: str = ""
    component_name: str = ""
    next_action: str = ""


class RunStatus(StrEnum):
    """The recorded status of a run. RUNNING with a dead process is an unfinished run."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    ABANDONED = "abandoned"


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run. The first eight fields are given at its start; the store fills the rest.

    Attributes:
        verb: `provision`, `validate`, `burnin` ...
        target: as typed.
        argv: the command line, without secrets.
        versions: of clusterctl, ansible-core, Python ...
        directory: its run directory; empty where it has none.
        summary: its result, plain JSON values.
        holder: the process that runs it; None = the process that records it.
    """

    id: str
    verb: str
    target: str
    operator: str
    started_at: str
    argv: tuple[str, ...]
    versions: Mapping[str, str]
    directory: str
    status: RunStatus = RunStatus.RUNNING
    finished_at: str = ""
    exit_code: int | None = None
    summary: Mapping[str, Any] = field(default_factory=dict)
    holder: Holder | None = None


@dataclass(frozen=True, slots=True)
class RunNodeRow:
    """A node's part in a run. `phase` is how far it got (`apply`, `validate`, `burnin`, `done` ...); `outcome` and `detail` are for people."""

    run_id: str
    node: str
    phase: str = ""
    outcome: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The newest validation of a node, where it gave no findings.

    Attributes:
        status: how it ended, a `NodeStatus` other than `ok`.
        detail: what happened, in the words of SSH or the node; may be empty.
    """

    node: str
    run_id: str
    status: str
    detail: str
    at: str


@dataclass(frozen=True, slots=True)
class AdmissionRecord:
    """The evidence on which a node was admitted.

    Attributes:
        document: canonical JSON of the evidence (see `clusterctl.core.admission.decide`).
        digest: sha256 of `document`.
        signature: armoured ssh signature of `document`; empty where the site does not sign.
    """

    node: str
    run_id: str
    spec_digest: str
    operator: str
    at: str
    document: str
    digest: str
    signature: str = ""


@dataclass(frozen=True, slots=True)
class Lease:
    """Which run holds a node, and until when."""

    node: str
    run_id: str
    holder: str
    process: Holder
    acquired_at: str
    expires_at: str


@dataclass(frozen=True, slots=True)
class PoolMember:
    """A node of the local pool; `reason` of the last change, prefixed with its owner."""

    node: str
    member: bool
    reason: str
    changed_at: str


@dataclass(frozen=True, slots=True)
class PoolDoubt:
    """A node whose pool membership is unknown: the scheduler did not answer, and did not show it either."""

    node: str
    why: str
    since: str


class BreakerEventKind(StrEnum):
    """What happened to the circuit breaker."""

    TRIPPED = "tripped"
    RESET = "reset"


@dataclass(frozen=True, slots=True)
class BreakerEvent:
    """The circuit breaker tripped, or a person reset it."""

    at: str
    kind: BreakerEventKind
    operator: str
    reason: str


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of checking the newest admission record of a node.

    Attributes:
        record: None where the node was never admitted.
        files: how many raw files were checked.
        signed_by: the signer; empty where it is not signed or no allowed signers are known.
        problems: why it cannot be trusted; empty if it can.
    """

    node: str
    record: AdmissionRecord | None
    files: int
    signed_by: str
    problems: tuple[str, ...]
