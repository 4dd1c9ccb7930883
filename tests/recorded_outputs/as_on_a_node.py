"""Readers that take more than a text: as on a node, where a helper program reduces it first, or where two parsers read it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from clusterctl.core.parsers.nccl_ranks import read_rank_logs
from clusterctl_validators import kernel_log, machine_errors
from support.agents import FILES

if TYPE_CHECKING:
    from clusterctl_validators.kernel_log import XidEvent
    from clusterctl_validators.machine_errors import MachineError


def nccl_log(text: str) -> list[str]:
    """Kinds of channels, ranks and warnings in a log of NCCL, of all its processes as of one."""
    with TemporaryDirectory() as folder:
        Path(folder, "nccl_rank.n1.1.log").write_text(text, encoding="utf-8")
        argv = [sys.executable, str(FILES / "rank_log.py"), "nccl_rank.*.log"]
        reduced = subprocess.run(argv, cwd=folder, check=True, capture_output=True, text=True, timeout=60).stdout
    logs = read_rank_logs(reduced)
    return [seen for log in logs for seen in (*log.channels, *log.warnings, *([f"rank {log.rank}"] if log.rank is not None else []))]


def kernel_events(text: str) -> list[XidEvent | MachineError]:
    """Every event that a validator takes from a kernel log."""
    gpus, machine = kernel_log.parse(text), machine_errors.parse(text)
    return [*gpus.xids, *gpus.sxids, *machine.aer, *machine.machine_checks]
