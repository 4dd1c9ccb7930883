"""process_tree_cost.py FD LIMIT_S COMMAND...: runs a command and measures its whole process tree.

Detached processes, such as an ssh with a shared connection, are adopted, terminated when the command ends, and counted. The result is written as JSON to the
file descriptor FD; the command inherits stdin, stdout and stderr.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_GRACE_S = 5.0
_TIMED_OUT = 124


def main() -> int:
    """Run the command, terminate its remaining processes, write the cost."""
    result_fd, limit_s, argv = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    os.set_inheritable(result_fd, False)
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot adopt the processes of the command")
    signal.signal(signal.SIGALRM, _on_timeout)
    began = time.monotonic()
    pid = os.posix_spawnp(argv[0], argv, os.environ)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        code = _wait_for(pid)
    except TimeoutError:
        code = _TIMED_OUT
    signal.setitimer(signal.ITIMER_REAL, 0)
    wall_s = time.monotonic() - began
    _terminate_remaining()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cost = {"code": code, "cpu_s": used.ru_utime + used.ru_stime, "wall_s": wall_s, "rss_mib": used.ru_maxrss / 1024}
    os.write(result_fd, json.dumps(cost).encode())
    return 0


def _on_timeout(_signal: int, _frame: object) -> None:
    raise TimeoutError


def _wait_for(pid: int) -> int:
    while True:
        ended, status = os.wait()
        if ended == pid:
            return os.waitstatus_to_exitcode(status)


def _terminate_remaining() -> None:
    """Repeat until no child is left, because the children of a terminated process are adopted, too."""
    deadline = time.monotonic() + _GRACE_S
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    while names := children.read_text().split():
        for name in names:
            os.kill(int(name), signal.SIGTERM if time.monotonic() < deadline else signal.SIGKILL)
        time.sleep(0.05)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return


if __name__ == "__main__":
    sys.exit(main())
