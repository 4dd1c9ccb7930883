"""The supervisor of the simulated machine: holds the kernel log, makes kernel files behave, answers other nodes."""

from __future__ import annotations

import os
import signal


def main() -> int:
    """Run until the machine stops."""
    os.open("/dev/kmsg", os.O_RDWR)  # held open: a writer must never wait for journald
    signal.pause()
    return 0
