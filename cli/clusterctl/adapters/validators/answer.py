"""From the output of a node's command to findings. Pure; output that is not clearly an answer to the request never passes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.ssh.remote_result import RemoteResult, TransportFailure
from clusterctl.adapters.ssh.sudo import NEEDS_TERMINAL
from clusterctl.adapters.validators.sent_findings import MALFORMED, SentFindings, clean, from_array, from_entries
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl_tools.root_file_system import VOLATILE_TYPES
from clusterctl_validators import launcher
from clusterctl_validators.finding import Finding, Outcome, Severity
from clusterctl_validators.run_on_node import EXIT_BAD_REQUEST, SCHEMA_VERSION

if TYPE_CHECKING:
    from clusterctl.adapters.ssh.remote_result import TransportError
    from clusterctl.adapters.validators.request import BundleRequest

LIMIT_BYTES = 8 * 1024 * 1024
_REFUSED = frozenset({launcher.EXIT_DAMAGED, launcher.EXIT_ABSENT, launcher.EXIT_TOO_OLD, launcher.EXIT_NO_PLACE, EXIT_BAD_REQUEST})
_NOT_FOUND = frozenset({126, 127})
_LAST_KEY = b'"findings": '
_BETWEEN_KEYS = (b"{", b", ")
_VIEW = re.compile(r"(?:read-only|not enforced)(?: \(.*\))?$")
_QUOTA = re.compile(r"(?:[0-9]+ % of a core|not enforced \(.*\))$")
_PYTHON = re.compile(r"[0-9]+\.[0-9]+(?:\.[0-9]+)?[+a-z0-9]*$")
_BOOT = re.compile(r"[0-9a-f-]{36}$")
_MOST_UPTIME_S = 1e10
_PROGRAM = re.compile(rb"^(?:sudo|clusterctl): ", re.MULTILINE)
_LINES = 5
_DETAIL_LIMIT = 500
_STATUS = {
    TransportFailure.UNREACHABLE: NodeStatus.UNREACHABLE,
    TransportFailure.AUTH_FAILED: NodeStatus.AUTH_FAILED,
    TransportFailure.HOST_KEY_UNKNOWN: NodeStatus.HOST_KEY_UNKNOWN,
    TransportFailure.HOST_KEY_CHANGED: NodeStatus.HOST_KEY_CHANGED,
    TransportFailure.TIMED_OUT: NodeStatus.TIMED_OUT,
    TransportFailure.DISCONNECTED: NodeStatus.UNREACHABLE,
    TransportFailure.TOO_MUCH_OUTPUT: NodeStatus.CRASHED,
}


class _NoAnswerError(Exception):
    def __init__(self, status: NodeStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


def bundle_is_absent(exited: RemoteResult) -> bool:
    """Whether the command ended because the node does not have the bundle."""
    return exited.rc == launcher.EXIT_ABSENT and b"clusterctl: " in exited.stderr


def from_transport_error(node: str, error: TransportError, duration_s: float) -> NodeFindings:
    """The result of a node whose connection failed."""
    return NodeFindings(node, _STATUS[error.failure], error.detail, (), duration_s)


def from_exit(request: BundleRequest, exited: RemoteResult, duration_s: float) -> NodeFindings:
    """The result of a node whose command ended."""
    try:
        document, sent = _parse_output(exited)
        answered = _answered(request, document, sent)
    except _NoAnswerError as e:
        lines = _first_lines(from_the_program(exited.stderr))
        detail = f"{str(e)[:_DETAIL_LIMIT]}: {lines}" if lines else str(e)[:_DETAIL_LIMIT]
        return NodeFindings(request.node, e.status, detail, (), duration_s)
    view, quota = _guard_state(document, "view", _VIEW), _guard_state(document, "cpu_quota", _QUOTA)
    findings = answered.findings + _missing(request, answered.roles)
    python = str(document.get("python", ""))
    known = python if _PYTHON.match(python) else ""
    boot_id, uptime_s = _boot_id(document), _uptime_s(document)
    return NodeFindings(
        request.node,
        NodeStatus.OK,
        "",
        findings,
        duration_s,
        view,
        quota,
        python=known,
        boot_id=boot_id,
        uptime_s=uptime_s,
        volatile_root=_volatile_root(document),
    )


def _parse_output(exited: RemoteResult) -> tuple[dict[str, Any], SentFindings | None]:
    if exited.rc in _NOT_FOUND:
        by_sudo = b"sudo" in exited.stderr
        raise _NoAnswerError(NodeStatus.AUTH_FAILED if by_sudo else NodeStatus.PYTHON_MISSING, "cannot be started")
    if exited.rc == 1 and (text := from_the_program(exited.stderr)).startswith(b"sudo:"):
        why = (
            " (`Defaults !requiretty` in sudoers allows it without a terminal)"
            if NEEDS_TERMINAL.search(text.decode("utf-8", "replace"))
            else ""
        )
        raise _NoAnswerError(NodeStatus.AUTH_FAILED, "cannot become root" + why)
    if exited.rc in _REFUSED and b"clusterctl: " in exited.stderr:
        raise _NoAnswerError(NodeStatus.BUNDLE_REFUSED, "refused")
    if exited.rc != 0:
        raise _NoAnswerError(NodeStatus.CRASHED, "ended by a signal" if exited.rc is None else f"ended with status {exited.rc}")
    return _read(exited.stdout)


def _guard_state(document: dict[str, Any], name: str, known: re.Pattern[str]) -> str:
    """The state of a guard that the checks ran under, as the node reports it."""
    text = str(clean(document.get(name)))[:_DETAIL_LIMIT]
    return text if known.match(text) else "not enforced (not reported)"


def _boot_id(document: dict[str, Any]) -> str:
    """The boot that the node reports; empty where it is not a boot id of a kernel."""
    text = str(document.get("boot_id"))
    return text if _BOOT.match(text) else ""


def _uptime_s(document: dict[str, Any]) -> float | None:
    """Since that boot; None where the node does not report it, or reports no time."""
    reported = document.get("uptime_s")
    return (
        float(reported) if isinstance(reported, int | float) and not isinstance(reported, bool) and 0 <= reported < _MOST_UPTIME_S else None
    )


def _volatile_root(document: dict[str, Any]) -> str:
    """The type of a root file system that no boot keeps, as the node reports it; empty where it reports none, or another word."""
    text = str(document.get("volatile_root"))
    return text if text in VOLATILE_TYPES else ""


def _last_line(stdout: bytes) -> bytes:
    """The last line: a login script may have printed others before it."""
    return stdout.rstrip().rpartition(b"\n")[2]


def _read(stdout: bytes) -> tuple[dict[str, Any], SentFindings | None]:
    """The answer, and its findings where they could be read without the rest; the document has none then."""
    try:
        data, sent = _split(_last_line(stdout))
    except (ValueError, RecursionError) as e:
        raise _NoAnswerError(NodeStatus.CRASHED, f"its answer is not JSON ({len(stdout)} bytes)") from e
    if not isinstance(data, dict) or "schema_version" not in data:
        raise _NoAnswerError(NodeStatus.CRASHED, "its answer has an unknown format")
    return data, sent


def _split(line: bytes) -> tuple[Any, SentFindings | None]:
    """The document of a line and the findings of its last array; None where the line or the array is of another form.

    With an empty array in place of the array, the document is valid if and only if it was before: what comes before ends between two keys.
    """
    before, mark, rest = line.partition(_LAST_KEY)
    if mark and before.endswith(_BETWEEN_KEYS) and rest.endswith(b"}"):
        sent = from_array(rest[:-1])
        if sent is not None:
            return json.loads(before + mark + b"[]}"), sent
    return json.loads(line), None


def _answered(request: BundleRequest, data: dict[str, Any], sent: SentFindings | None) -> SentFindings:
    """The findings of the answer, which must be of this request and of its roles only."""
    _require_ours(request, data)
    if sent is None:
        try:
            sent = from_entries(data["findings"])
        except MALFORMED as e:
            raise _NoAnswerError(NodeStatus.CRASHED, f"its findings are malformed ({type(e).__name__}: {e})") from e
    unrequested = sorted(sent.roles.difference(request.roles))
    if unrequested:
        raise _NoAnswerError(NodeStatus.CRASHED, f"its answer has roles that were not requested: {clean(', '.join(unrequested))}")
    return sent


def _require_ours(request: BundleRequest, data: dict[str, Any]) -> None:
    if data["schema_version"] != SCHEMA_VERSION:
        raise _NoAnswerError(NodeStatus.BUNDLE_REFUSED, f"its answer has schema version {data['schema_version']!r}, not {SCHEMA_VERSION}")
    if data.get("bundle") != request.bundle:
        raise _NoAnswerError(NodeStatus.BUNDLE_REFUSED, "its answer comes from a different bundle")
    if data.get("node") != request.node or data.get("nonce") != request.nonce:
        raise _NoAnswerError(NodeStatus.CRASHED, f"its answer belongs to another request (node {data.get('node')!r})")


def _missing(request: BundleRequest, present: frozenset[str]) -> tuple[Finding, ...]:
    """A requested role without findings could not be verified."""
    missing = [role for role in request.roles if role not in present]
    reason = "the node's answer has no finding of this role"
    return tuple(Finding(f"{r}.validator", r, Outcome.COULD_NOT_RUN, Severity.MAJOR, reason=reason) for r in missing)


def from_the_program(stderr: bytes) -> bytes:
    """The output from the first line of sudo or the launcher on, where either wrote one: login scripts print before them."""
    found = _PROGRAM.search(stderr)
    return stderr[found.start() :] if found else stderr


def _first_lines(stderr: bytes) -> str:
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    text: str = clean(" | ".join(line.removeprefix("clusterctl: ") for line in lines[:_LINES]))
    return text if len(text) <= _DETAIL_LIMIT else text[: _DETAIL_LIMIT - 3] + "..."
