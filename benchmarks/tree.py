"""Runs a command and tells what its whole process tree cost: FD LIMIT_S COMMAND...

Processes that detach themselves (an ssh that shares its connection) are adopted, ended with the command, and counted. The result goes as JSON
to the file descriptor; the command keeps stdin, stdout and stderr.
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
    """Run, adopt, end, count."""
    told_to, limit_s, argv = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    os.set_inheritable(told_to, False)
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot adopt the processes of the command")
    signal.signal(signal.SIGALRM, _too_late)
    began = time.monotonic()
    pid = os.posix_spawnp(argv[0], argv, os.environ)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        code = _wait_for(pid)
    except TimeoutError:
        code = _TIMED_OUT
    signal.setitimer(signal.ITIMER_REAL, 0)
    wall_s = time.monotonic() - began
    _end_the_rest()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = {"code": code, "cpu_s": used.ru_utime + used.ru_stime, "wall_s": wall_s, "rss_mib": used.ru_maxrss / 1024}
    os.write(told_to, json.dumps(told).encode())
    return 0


def _too_late(_signal: int, _frame: object) -> None:
    raise TimeoutError


def _wait_for(pid: int) -> int:
    while True:
        ended, status = os.wait()
        if ended == pid:
            return os.waitstatus_to_exitcode(status)


def _end_the_rest() -> None:
    """Until there is no child left: what a dying one leaves behind is adopted too."""
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
