"""The machine-readable results of the verbs that change the state of nodes; `documents` has the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clusterctl.model.move import MoveOutcome  # noqa: TC001 pydantic reads the annotations when the schemas are generated
from clusterctl.model.plan import PlannedAction  # noqa: TC001 as above
from clusterctl.model.playbook_result import HostStatus, PlaybookStatus  # noqa: TC001
from clusterctl.model.repair import Component, NextAction  # noqa: TC001
from clusterctl.model.state import State  # noqa: TC001
from clusterctl.model.verdict import ReasonKind  # noqa: TC001


@dataclass(frozen=True, slots=True)
class ShownReason:
    """One thing that keeps a node out, or, as a note, does not.

    Attributes:
        code: what it is about, for programs: `gate.rdma_pair`, `role.ofed`; the kind alone where nothing is named.
        text: for people, with what was found and expected.
        device: GPU or HCA; empty where it is the whole node.
        component: the part that it is about, docs/reference/next-actions.md; empty where it is not stated.
        component_name: which one, where it is not a part of the node; empty otherwise.
        next_action: what to do first, as listed there; empty where only the hint states it.
        hint: what to do next.
    """

    kind: ReasonKind
    code: str
    text: str
    device: str
    component: Component | Literal[""]
    component_name: str
    next_action: NextAction | Literal[""]
    hint: str


@dataclass(frozen=True, slots=True)
class AdmittedNode:
    """A candidate.

    Attributes:
        from_: the state it was in; not admitted, it stays there.
        reasons: what keeps it out; empty exactly where it is admitted.
        notes: what was seen and does not keep it out.
    """

    name: str
    from_: State
    admitted: bool
    reasons: tuple[ShownReason, ...]
    notes: tuple[ShownReason, ...]


@dataclass(frozen=True, slots=True)
class AdmitDocument:
    """clusterctl admit TARGET -o json."""

    nodes: tuple[AdmittedNode, ...]


@dataclass(frozen=True, slots=True)
class VerifiedNode:
    """The newest admission record of a node.

    Attributes:
        digest: of the record; empty where the node was never admitted. So for the next one.
        run_id: of the run that admitted it.
        files: how many raw files were checked.
        signed_by: the signer; empty where it is not signed, or no allowed signers are known.
        problems: why it cannot be trusted; empty where it can.
    """

    name: str
    digest: str
    run_id: str
    files: int
    signed_by: str
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AdmitVerifyDocument:
    """clusterctl admit TARGET --verify -o json."""

    nodes: tuple[VerifiedNode, ...]


@dataclass(frozen=True, slots=True)
class MovedNode:
    """A node of `drain` or `release`.

    Attributes:
        from_: the state it was in.
        state: the state it is in now.
        reason: the recorded one; where the node stayed as it was, why.
        reason_code: of the node now; empty where it has none.
    """

    name: str
    from_: State
    state: State
    outcome: MoveOutcome
    reason: str
    reason_code: str


@dataclass(frozen=True, slots=True)
class DrainedNode(MovedNode):
    """A node of `drain`.

    Attributes:
        from_: the state it was in.
        state: the state it is in now.
        reason: the recorded one; where the node stayed as it was, why.
        reason_code: of the node now; empty where it has none.
        running: the jobs that still run there, empty without any; null where the pool does not report them, or the node stayed as it was.
    """

    running: str | None


@dataclass(frozen=True, slots=True)
class DrainDocument:
    """clusterctl drain TARGET -o json."""

    nodes: tuple[DrainedNode, ...]


@dataclass(frozen=True, slots=True)
class ReleaseDocument:
    """clusterctl release TARGET -o json."""

    nodes: tuple[MovedNode, ...]


@dataclass(frozen=True, slots=True)
class ForgottenNode:
    """A node as it was recorded until now, with the reason of its state."""

    name: str
    state: State
    reason: str


@dataclass(frozen=True, slots=True)
class ForgetDocument:
    """clusterctl forget TARGET -o json."""

    nodes: tuple[ForgottenNode, ...]


@dataclass(frozen=True, slots=True)
class NodeToProvision:
    """What `provision` would do with a node.

    Attributes:
        action: `work`: apply roles and burn in; `quarantine`: a check fails that no role can repair.
        why: one line for people.
        roles: those that would run.
        failing_checks: ids of the checks that did not pass, or could not run.
        exit_code: what the node adds to the exit code of `provision` where it is not provisioned.
    """

    name: str
    state: State
    action: PlannedAction
    why: str
    roles: tuple[str, ...]
    failing_checks: tuple[str, ...]
    exit_code: int


@dataclass(frozen=True, slots=True)
class ProvisionPlanDocument:
    """clusterctl provision TARGET --check -o json."""

    exit_code: int
    nodes: tuple[NodeToProvision, ...]


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """A task that would change a node.

    Attributes:
        role: empty where it is of no role.
        diff: of the file it would change; empty where it has none, or must not show it.
    """

    role: str
    task: str
    diff: str


@dataclass(frozen=True, slots=True)
class FailedTask:
    """A task that failed in check mode."""

    role: str
    task: str
    message: str


@dataclass(frozen=True, slots=True)
class CheckedNode:
    """What check mode found on a node."""

    name: str
    status: HostStatus
    changes: tuple[PlannedTask, ...]
    failures: tuple[FailedTask, ...]


@dataclass(frozen=True, slots=True)
class AnsiblePlanDocument:
    """clusterctl plan TARGET --ansible -o json, and the file of its --out.

    Attributes:
        command_line: of Ansible.
        status: how its run ended.
        detail: why it did not complete; empty where it did.
    """

    command_line: str
    status: PlaybookStatus
    detail: str
    nodes: tuple[CheckedNode, ...]
