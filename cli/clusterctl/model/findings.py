"""The findings of one node. Imported by light modules: standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from clusterctl.model.exit_codes import ExitCode, worst
from clusterctl_validators.finding import GOOD

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clusterctl_validators.finding import Finding


class NodeStatus(StrEnum):
    """How the one SSH exec on a node ended. Only OK means that its findings are complete."""

    OK = "ok"
    UNREACHABLE = "unreachable"
    AUTH_FAILED = "auth_failed"
    HOST_KEY_UNKNOWN = "host_key_unknown"
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
        view: how the checks read the node: "read-only" (with the exceptions), or "not enforced (REASON)"; empty without findings, and in
            findings from the store.
        held_by: the run that was changing the node meanwhile, for people; empty = none.
        at: when it answered, or its time was over; empty in findings from the store.
        boot_id: the boot of the node in which the checks ran, as its kernel names it; empty where it is not known, and in findings from the store.
        uptime_s: since that boot, when the checks ended; None where `boot_id` is empty, or the node does not report it.
        booted_at: when that boot began, by the clock of this machine (`clusterctl.adapters.clock`); empty where `uptime_s` is None.
        volatile_root: the type of its root file system where no boot keeps that: tmpfs, rootfs, overlay; empty where one may, and in findings from the store.
        cpu_quota: the CPU quota of the checks: "50 % of a core", or "not enforced (REASON)"; empty where `view` is.
        python: the version of the Python that ran the checks, which is also Ansible's on the node; empty where `view` is.
    """

    node: str
    status: NodeStatus
    detail: str
    findings: tuple[Finding, ...]
    duration_s: float
    view: str = ""
    cpu_quota: str = ""
    held_by: str = ""
    at: str = ""
    python: str = ""
    boot_id: str = ""
    uptime_s: float | None = None
    volatile_root: str = ""
    booted_at: str = ""


class ValidationListener(Protocol):
    """Follows a validation node by node."""

    def started(self, node: str) -> None:
        """The node is being queried."""
        ...

    def answered(self, node: str) -> None:
        """The node answered, or its time is over."""
        ...

    def note(self, text: str) -> None:
        """What holds the validation up, in one line."""
        ...


_HINTS: Mapping[NodeStatus, str] = {
    NodeStatus.UNREACHABLE: "check its power, network and SSH, then run again",
    NodeStatus.AUTH_FAILED: "check ansible_user and its key; for sudo, ansible_become_password and the sudoers of the node; then run again",
    NodeStatus.HOST_KEY_UNKNOWN: "compare its key with the one that its console shows, then add it: ssh-keyscan -H {nodes} >> ~/.ssh/known_hosts",
    NodeStatus.HOST_KEY_CHANGED: "if the node was reinstalled on purpose, renew its line in known_hosts; otherwise another host answers at its address",
    NodeStatus.TIMED_OUT: "a mount or tool on the node may hang; check the node, then run again",
    NodeStatus.PYTHON_MISSING: "install python3 on the node, or set ansible_python_interpreter",
    NodeStatus.BUNDLE_REFUSED: "the node needs a newer Python, or a private folder: /var/lib/clusterctl of mode 0700",
    NodeStatus.CRASHED: "see the output of the node; a login script that prints, a full disk or a killed process can be the cause",
}
LOST = frozenset(
    {NodeStatus.UNREACHABLE, NodeStatus.AUTH_FAILED, NodeStatus.HOST_KEY_UNKNOWN, NodeStatus.HOST_KEY_CHANGED, NodeStatus.TIMED_OUT}
)


def status_hint(status: NodeStatus, *nodes: str) -> str:
    """The next action on nodes whose status is not OK."""
    return _HINTS[status].format(nodes=" ".join(nodes))


def status_hints(found: Iterable[tuple[str, NodeStatus]]) -> dict[str, str]:
    """Node -> the next action, for the nodes whose status is not OK. One command for all nodes without a known host key; the first of them has it."""
    lost = [(node, status) for node, status in found if status is not NodeStatus.OK]
    unknown = [node for node, status in lost if status is NodeStatus.HOST_KEY_UNKNOWN]
    hints = {node: status_hint(status, node) for node, status in lost if node not in unknown[1:]}
    return hints | {node: status_hint(NodeStatus.HOST_KEY_UNKNOWN, *unknown) for node in unknown[:1]}


def findings_exit_code(results: Iterable[NodeFindings]) -> ExitCode:
    """The exit code of validating these nodes: all as declared, a node not reached, or a check that failed or could not run."""
    return worst([_exit_code(r) for r in results])


def _exit_code(result: NodeFindings) -> ExitCode:
    if result.status in LOST:
        return ExitCode.UNREACHABLE
    bad = result.status is not NodeStatus.OK or any(f.outcome not in GOOD for f in result.findings)
    return ExitCode.VALIDATOR_FAILED if bad else ExitCode.OK
