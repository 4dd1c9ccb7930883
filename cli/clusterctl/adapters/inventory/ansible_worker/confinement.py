"""The worker ends with its parent and takes no more than half of the memory: it reads files of others."""

from __future__ import annotations

import ctypes
import os
import resource
import signal

_PR_SET_PDEATHSIG = 1


def confine(parent: int) -> None:
    """Die with `parent`; run out of memory before the machine does."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the signal was set
        os.kill(os.getpid(), signal.SIGKILL)
    half = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (half if hard == resource.RLIM_INFINITY else min(half, hard), hard))
