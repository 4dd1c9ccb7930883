"""Options, progress and results of a provisioning run."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from clusterctl.model.exit_codes import ExitCode, worst

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.model.level import Level
    from clusterctl.model.state import State
    from clusterctl.model.task_event import TaskEvent
    from clusterctl.model.verdict import Reason


class Phase(StrEnum):
    """The steps, in their order."""

    CHECK = "check"
    APPLY = "apply"
    REBOOT = "reboot"
    VERIFY = "verify"
    BURN_IN = "burn in"
    ADMIT = "admit"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class ProvisionOptions:
    """The options of a provisioning run.

    Attributes:
        level: of the burn-in: quick, standard, full.
        roles: only these, empty = those with failing checks.
        all_roles: apply every role even where all checks pass.
        include_drained: also nodes that a person drained or quarantined.
        retest: try quarantined nodes again although nothing changed.
        force: past the circuit breaker and the maintenance windows.
        reason: why, in the words of the operator; may be empty.
        reboot: nodes may be rebooted where a role requires it.
        partners: names of admitted nodes to measure with; they are not changed.
        ansible_args: Ansible's own options, as typed.
    """

    level: Level = "standard"
    roles: tuple[str, ...] = ()
    all_roles: bool = False
    include_drained: bool = False
    retest: bool = False
    force: bool = False
    reason: str = ""
    reboot: bool = True
    partners: tuple[str, ...] = ()
    forks: int = 25
    verbosity: int = 0
    diff: bool = False
    ansible_args: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values without Ansible's own options, which may name files with secrets."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items() if k != "ansible_args"}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], ansible_args: tuple[str, ...] = ()) -> ProvisionOptions:
        """The reverse of `to_json`."""
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
        return cls(**values, ansible_args=ansible_args)


@dataclass(frozen=True, slots=True)
class PhaseStarted:
    """A step begins for some nodes. `roles`: all that its playbook applies; empty = any."""

    step: Phase
    nodes: tuple[str, ...]
    detail: str = ""
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeMoved:
    """A node changed its state, or has ended."""

    node: str
    state: State
    step: Phase
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TaskSeen:
    """A task event of the playbook that runs for a step."""

    step: Phase
    event: TaskEvent


@dataclass(frozen=True, slots=True)
class NodeQueried:
    """A node is being validated, or has answered."""

    node: str
    answered: bool


@dataclass(frozen=True, slots=True)
class Note:
    """A message that concerns no single node."""

    text: str


Progress = PhaseStarted | NodeMoved | NodeQueried | TaskSeen | Note


@dataclass(frozen=True, slots=True)
class NodeResult:
    """The result for one node.

    Attributes:
        reason: one line, empty for an admitted node.
        reasons: the evidence against it, for the summary.
        changed: tasks that changed the node.
        duration_s: from the start of the run until the node ended.
    """

    node: str
    state: State
    exit_code: ExitCode
    reason: str = ""
    reasons: tuple[Reason, ...] = ()
    changed: int = 0
    duration_s: float = 0.0
    touched: bool = False


@dataclass(frozen=True, slots=True)
class ProvisionResult:
    """The result of a run.

    Attributes:
        declined: the operator declined the plan; nothing was touched.
        simulated: numbers come from a lab.
    """

    run_id: str
    nodes: tuple[NodeResult, ...]
    duration_s: float
    declined: bool = False
    simulated: bool = False
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def exit_code(self) -> ExitCode:
        """The worst of the nodes, by the documented precedence."""
        return worst([n.exit_code for n in self.nodes])
