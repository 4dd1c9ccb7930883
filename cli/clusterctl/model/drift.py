"""Deviations, the policy and the report of a drift run."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from clusterctl.model.exit_codes import ExitCode, worst
from clusterctl.model.findings import LOST, NodeStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.model.state import State
    from clusterctl_validators.finding import Severity


class DriftKind(StrEnum):
    """What changed.

    DRIFT: the node, while its declared state stayed the same. PENDING: the declared state, since the node was last provisioned.
    UNKNOWN: undetermined, because the check could not run.
    """

    DRIFT = "drift"
    PENDING = "pending"
    UNKNOWN = "unknown"


class DriftAction(StrEnum):
    """What the policy does about drift of a severity; HEAL needs --heal."""

    REPORT = "report"
    DRAIN = "drain"
    HEAL = "heal"


@dataclass(frozen=True, slots=True)
class Deviation:
    """One check that fails on one node.

    Attributes:
        then: what the check expected when the node was last provisioned; empty where that is unknown or the same.
        above: the check that names the cause, where it is above the node; of this run, not remembered.
        owner: who owns the role's part of the node instead of clusterctl; of this run, not remembered.
        first_seen, last_seen: when a drift run first found it, with no run in between in which the check passed.
    """

    node: str
    check: str
    role: str
    kind: DriftKind
    severity: Severity
    expected: str
    found: str
    hint: str
    then: str = ""
    first_seen: str = ""
    last_seen: str = ""
    above: str = ""
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Lost:
    """A node that returned no findings, and why."""

    node: str
    status: NodeStatus
    detail: str


@dataclass(frozen=True, slots=True)
class Then:
    """A check at the last validation under the declared state that was last applied. `held`: it passed."""

    expected: str
    found: str
    held: bool


@dataclass(frozen=True, slots=True)
class Known:
    """What the store has recorded of a node.

    Attributes:
        spec_digest: the declared state that was last applied; empty before the first time.
        then: its checks at the last validation under that state; needed only where the declared state has changed since.
    """

    state: State
    spec_digest: str
    then: Mapping[str, Then] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DriftReport:
    """What a drift run found.

    Attributes:
        good: (node, check) that passed; only these end an earlier deviation.
        nodes: all nodes of the run.
        views: how the checks read nodes (`NodeFindings.view`) -> how many.
        cpu_quotas: the CPU quota of the checks there (`NodeFindings.cpu_quota`) -> how many.
    """

    nodes: tuple[str, ...]
    deviations: tuple[Deviation, ...]
    lost: tuple[Lost, ...]
    good: frozenset[tuple[str, str]] = frozenset()
    views: Mapping[str, int] = field(default_factory=dict)
    cpu_quotas: Mapping[str, int] = field(default_factory=dict)

    def of(self, node: str, kind: DriftKind) -> tuple[Deviation, ...]:
        """The deviations of one kind on one node."""
        return tuple(d for d in self.deviations if d.node == node and d.kind is kind)

    @property
    def exit_code(self) -> ExitCode:
        """0 nothing changed; 8 drift or pending changes; 6 a check could not run; 4 a node was not reached."""
        codes = [ExitCode.UNREACHABLE if x.status in LOST else ExitCode.VALIDATOR_FAILED for x in self.lost]
        codes += [ExitCode.VALIDATOR_FAILED if d.kind is DriftKind.UNKNOWN else ExitCode.CHANGES_PENDING for d in self.deviations]
        return worst(codes)
