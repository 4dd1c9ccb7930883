"""Programs that use this machine without having been started by a measurement: real processes, which compute nothing (simulated)."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .state import Faults

FAULT = "foreign_program"
# Every process with a CUDA context has it open.
DEVICE = "/dev/nvidia-uvm"
# As `ps` shows them: a program, and what Slurm titles the process of a job's step.
_TITLES = {"training": "train.py (simulated)", "slurm_step": "slurmstepd: [4711.0]"}
_ON_GPUS = "training"


class ForeignPrograms:
    """The processes of this machine's faults. What a person has ended stays ended."""

    def __init__(self, device: str = DEVICE) -> None:
        self.device = device
        self.started: dict[str, subprocess.Popen[bytes]] = {}

    def update(self, faults: Faults) -> None:
        """Start what is new, end what was cleared."""
        wanted = {fault.option for fault in faults.of(FAULT)}
        for kind in sorted(self.started.keys() - wanted):
            process = self.started.pop(kind)
            process.kill()
            process.wait()
            if kind == _ON_GPUS:
                os.unlink(self.device)
        for kind in sorted(wanted - self.started.keys()):
            self.started[kind] = self._start(kind)

    def _start(self, kind: str) -> subprocess.Popen[bytes]:
        program = [_TITLES[kind], "infinity"]
        if kind != _ON_GPUS:
            return subprocess.Popen(program, executable="/bin/sleep", stdin=subprocess.DEVNULL)
        with open(self.device, "ab") as held:
            return subprocess.Popen(program, executable="/bin/sleep", stdin=subprocess.DEVNULL, pass_fds=[held.fileno()])
