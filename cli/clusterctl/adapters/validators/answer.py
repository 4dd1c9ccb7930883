"""From what a node said to its findings. Pure; what is not clearly an answer to our question is never a pass."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.ssh.exec_result import Exited, Trouble
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl_validators import launcher
from clusterctl_validators.finding import Finding, Outcome, Severity
from clusterctl_validators.run_on_node import EXIT_BAD_REQUEST, SCHEMA_VERSION

if TYPE_CHECKING:
    from clusterctl.adapters.ssh.exec_result import TransportError
    from clusterctl.adapters.validators.request import BundleRequest

LIMIT_BYTES = 8 * 1024 * 1024
_REFUSED = frozenset({launcher.EXIT_DAMAGED, launcher.EXIT_ABSENT, launcher.EXIT_TOO_OLD, launcher.EXIT_NO_PLACE, EXIT_BAD_REQUEST})
_NOT_FOUND = frozenset({126, 127})
_FIELDS = tuple(field.name for field in fields(Finding))
_PLAIN = bytes(range(0x20, 0x7F))
_ESCAPE = re.compile(rb"\\(?:u[0-9a-fA-F]{4}|.)")
_VIEW = re.compile(r"(?:read-only|not enforced)(?: \(.*\))?$")
_QUOTA = re.compile(r"(?:[0-9]+ % of a core|not enforced \(.*\))$")
_LINES = 5
_DETAIL_LIMIT = 500
_STATUS = {
    Trouble.UNREACHABLE: NodeStatus.UNREACHABLE,
    Trouble.AUTH_FAILED: NodeStatus.AUTH_FAILED,
    Trouble.HOST_KEY_UNKNOWN: NodeStatus.HOST_KEY_CHANGED,
    Trouble.HOST_KEY_CHANGED: NodeStatus.HOST_KEY_CHANGED,
    Trouble.TIMED_OUT: NodeStatus.TIMED_OUT,
    Trouble.DISCONNECTED: NodeStatus.UNREACHABLE,
    Trouble.TOO_MUCH_OUTPUT: NodeStatus.CRASHED,
}


class _NotAnAnswerError(Exception):
    def __init__(self, status: NodeStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


def bundle_is_absent(exited: Exited) -> bool:
    """Whether the node asks for the bundle."""
    return exited.rc == launcher.EXIT_ABSENT and b"clusterctl: " in exited.stderr


def from_trouble(node: str, error: TransportError, duration_s: float) -> NodeFindings:
    """A conversation that broke."""
    return NodeFindings(node, _STATUS[error.trouble], error.detail, (), duration_s)


def from_exit(request: BundleRequest, exited: Exited, duration_s: float) -> NodeFindings:
    """A command that ended."""
    try:
        said = _said(exited)
        findings = _complete(request, _checked(request, said, _is_clean(_last_line(exited.stdout))))
    except _NotAnAnswerError as e:
        lines = _first_lines(exited.stderr)
        detail = f"{e}: {lines}" if lines else str(e)
        return NodeFindings(request.node, e.status, detail, (), duration_s)
    view, quota = _guard(said, "view", _VIEW), _guard(said, "cpu_quota", _QUOTA)
    return NodeFindings(request.node, NodeStatus.OK, "", findings, duration_s, view, quota)


def _said(exited: Exited) -> dict[str, Any]:
    if exited.rc in _NOT_FOUND:
        by_sudo = b"sudo" in exited.stderr
        raise _NotAnAnswerError(NodeStatus.AUTH_FAILED if by_sudo else NodeStatus.PYTHON_MISSING, "cannot be started")
    if exited.rc == 1 and exited.stderr.lstrip().startswith(b"sudo:"):
        raise _NotAnAnswerError(NodeStatus.AUTH_FAILED, "may not become root")
    if exited.rc in _REFUSED and b"clusterctl: " in exited.stderr:
        raise _NotAnAnswerError(NodeStatus.BUNDLE_REFUSED, "refused")
    if exited.rc != 0:
        raise _NotAnAnswerError(NodeStatus.CRASHED, "ended by a signal" if exited.rc is None else f"ended with status {exited.rc}")
    return _document(exited.stdout)


def _guard(said: dict[str, Any], name: str, known: re.Pattern[str]) -> str:
    """What the node says of a guard that its checks run under."""
    text = str(_clean(said.get(name)))[:_DETAIL_LIMIT]
    return text if known.match(text) else "not enforced (the node does not say)"


def _last_line(stdout: bytes) -> bytes:
    """A login script may have chattered before it."""
    return stdout.rstrip().rpartition(b"\n")[2]


def _is_clean(line: bytes) -> bool:
    """Whether no text of it needs cleaning: printable ASCII, and what JSON escapes is printable, too. Two passes in C over a long answer."""
    return not line.translate(None, _PLAIN) and all(map(_is_harmless, set(_ESCAPE.findall(line))))


@lru_cache(maxsize=256)
def _is_harmless(escape: bytes) -> bool:
    """Whether an escape of JSON stands for something that `_clean` leaves alone; half of a pair does not."""
    try:
        text = json.loads(b'"' + escape + b'"')
    except ValueError:
        return False
    return bool(_clean(text) == text)


def _document(stdout: bytes) -> dict[str, Any]:
    try:
        data = json.loads(_last_line(stdout))
    except (ValueError, RecursionError) as e:
        raise _NotAnAnswerError(NodeStatus.CRASHED, f"its answer is not JSON ({len(stdout)} bytes)") from e
    if not isinstance(data, dict) or "schema_version" not in data:
        raise _NotAnAnswerError(NodeStatus.CRASHED, "its answer is not one of ours")
    return data


def _checked(request: BundleRequest, data: dict[str, Any], text_is_clean: bool) -> tuple[Finding, ...]:
    if data["schema_version"] != SCHEMA_VERSION:
        raise _NotAnAnswerError(NodeStatus.BUNDLE_REFUSED, f"answers in version {data['schema_version']!r}, not {SCHEMA_VERSION}")
    if data.get("bundle") != request.bundle:
        raise _NotAnAnswerError(NodeStatus.BUNDLE_REFUSED, "answered by another bundle than was sent")
    if data.get("node") != request.node or data.get("nonce") != request.nonce:
        raise _NotAnAnswerError(NodeStatus.CRASHED, f"its answer is for another question (node {data.get('node')!r})")
    try:
        said = data["findings"] if text_is_clean else [{k: _clean(v) for k, v in one.items()} for one in data["findings"]]
        findings = tuple(map(_finding, said))
    except (KeyError, ValueError, TypeError, AttributeError) as e:
        raise _NotAnAnswerError(NodeStatus.CRASHED, f"its findings are damaged ({type(e).__name__}: {e})") from e
    strange = sorted({f.role for f in findings} - set(request.roles))
    if strange:
        raise _NotAnAnswerError(NodeStatus.CRASHED, f"it answers for roles that were not asked: {_clean(', '.join(strange))}")
    return findings


_known: dict[tuple[Any, ...], Finding] = {}
_KNOWN_AT_MOST = 20_000


def _finding(said: dict[str, Any]) -> Finding:
    """Nodes of a class say mostly the same: equal findings are one object, made once."""
    key = tuple(map(said.get, _FIELDS))
    try:
        found = _known.get(key)
    except TypeError:  # a list where text should be
        return Finding.from_json(said)
    if found is None:
        found = Finding.from_json(said)
        if all(isinstance(value, str) for value in key):  # 1 and True are equal keys, and other text
            if len(_known) >= _KNOWN_AT_MOST:
                _known.clear()
            _known[key] = found
    return found


def _complete(request: BundleRequest, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """A role that was asked for and is not answered could not be verified."""
    answered = {f.role for f in findings}
    silent = [role for role in request.roles if role not in answered]
    reason = "the node's answer does not mention this role"
    return findings + tuple(Finding(f"{r}.validator", r, Outcome.COULD_NOT_RUN, Severity.MAJOR, reason=reason) for r in silent)


def _first_lines(stderr: bytes) -> str:
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    text: str = _clean(" | ".join(line.removeprefix("clusterctl: ") for line in lines[:_LINES]))
    return text if len(text) <= _DETAIL_LIMIT else text[: _DETAIL_LIMIT - 3] + "..."


def _clean(value: Any) -> Any:
    """Text without what would move a terminal's cursor or break an encoder."""
    if not isinstance(value, str) or value.isprintable():
        return value
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in value)
