"""Run the items in a child process, so that a check that cannot be interrupted delays no other check.

A read from a dead mount sleeps uninterruptibly in the kernel: no signal ends it. The parent then abandons that child,
records the check as could_not_run and forks another child for the rest.
"""

import json
import os
import selectors
import signal
import time
from typing import Dict, List, Optional, Sequence, Tuple

import pytest

from clusterctl_validators.finding import Finding, Outcome, Severity
from clusterctl_validators.plugin import RUN, NodeRun, check_name, limit_of, record_of

GRACE_S = 3.0


class Supervisor:
    """A pytest plugin that replaces the run loop.

    Attributes:
        grace_s: time that a check may exceed its limit before its process is abandoned.
        total_s: time limit of all checks together.
    """

    def __init__(self, total_s: float, grace_s: float = GRACE_S) -> None:
        self.total_s = total_s
        self.grace_s = grace_s

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run every item once; each leaves findings."""
        run = session.config.stash[RUN]
        end = time.monotonic() + self.total_s
        index = 0
        while index < len(session.items):
            if time.monotonic() >= end:
                run.findings += [_lost(item, "the time limit of this node was reached") for item in session.items[index:]]
                break
            index = self._run_from(session.items, index, run, end)
        return True

    def _run_from(self, items: Sequence[pytest.Item], index: int, run: NodeRun, end: float) -> int:
        """Run items[index:] in a child; return the index to go on with."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            _work(items, index, writer)
        os.close(writer)
        lines = _Lines(reader)
        try:
            while index < len(items):
                limit_s = limit_of(items[index], run) + run.limit_s + self.grace_s
                line, problem = lines.next(min(end, time.monotonic() + limit_s))
                if line is None:
                    late = time.monotonic() >= end
                    run.findings.append(_lost(items[index], "the time limit of this node was reached" if late else problem))
                    return index + 1
                _take(json.loads(line), run)
                index += 1
            return index
        finally:
            os.close(reader)
            _reap(child)


def _work(items: Sequence[pytest.Item], index: int, writer: int) -> None:
    """The child process: run the items, send the findings of each, never return."""
    code = 1
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1):
            os.dup2(null, fd)
        for i in range(index, len(items)):
            item = items[i]
            following = items[i + 1] if i + 1 < len(items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            run = item.config.stash[RUN]
            message = {
                "findings": [f.to_json() for f in record_of(item).findings],
                "read": {role: sorted(view.read_keys) for role, view in run.specs.items() if view.read_keys},
            }
            _write(writer, json.dumps(message).encode() + b"\n")
        code = 0
    finally:
        os._exit(code)


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def _take(message: Dict[str, object], run: NodeRun) -> None:
    findings: List[Dict[str, object]] = message["findings"]  # type: ignore[assignment]
    read: Dict[str, List[str]] = message["read"]  # type: ignore[assignment]
    run.findings += [Finding.from_json(f) for f in findings]
    for role, keys in read.items():
        run.specs[role].read_keys.update(keys)


def _lost(item: pytest.Item, reason: str) -> Finding:
    role = check_name(item).partition(".")[0]
    return Finding(check_name(item), role, Outcome.COULD_NOT_RUN, Severity.MAJOR, reason=reason)


def _reap(child: int) -> None:
    """Kill the child; one in uninterruptible sleep is left to the kernel."""
    os.kill(child, signal.SIGKILL)
    for _ in range(20):
        if os.waitpid(child, os.WNOHANG)[0]:
            return
        time.sleep(0.005)


class _Lines:
    """Lines from a pipe, each with a deadline."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._rest = b""
        self._selector = selectors.DefaultSelector()
        self._selector.register(fd, selectors.EVENT_READ)

    def next(self, deadline: float) -> Tuple[Optional[bytes], str]:
        """The next line; or None and the reason."""
        while b"\n" not in self._rest:
            if not self._selector.select(max(0.0, deadline - time.monotonic())):
                return None, "hangs and cannot be interrupted; its process was abandoned"
            data = os.read(self._fd, 65536)
            if not data:
                return None, "the checking process died"
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line, ""
