"""What validating one node came to: the border between transport, store, decision and report. Light to import."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterctl_validators.finding import Finding


class NodeStatus(StrEnum):
    """How the one SSH exec on a node ended. Only OK means that its findings are complete."""

    OK = "ok"
    UNREACHABLE = "unreachable"
    AUTH_FAILED = "auth_failed"
    HOST_KEY_CHANGED = "host_key_changed"
    PYTHON_MISSING = "python_missing"
    BUNDLE_REFUSED = "bundle_refused"
    TIMED_OUT = "timed_out"
    CRASHED = "crashed"


@dataclass(frozen=True, slots=True)
class NodeFindings:
    """All findings of one node, or why there are none.

    Attributes:
        detail: what happened where `status` is not OK; may be empty.
        duration_s: wall time of the exec, connection included.
    """

    node: str
    status: NodeStatus
    detail: str
    findings: tuple[Finding, ...]
    duration_s: float
