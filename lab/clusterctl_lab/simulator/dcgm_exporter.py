"""dcgm-exporter: every field of its counters file, 0 for every GPU on the bus."""

from __future__ import annotations

import os
import sys

from . import machine, state
from .metrics_server import option_value, serve_metrics

# What this program may see: its unit hides /proc/driver and the folder of the lab's faults.
DEVICES = "/sys/bus/pci/devices"


def main(argv: list[str], version: str) -> int:
    """Answer `--version`, or serve; without the counters file or the driver it ends as the real one."""
    if "--version" in argv:
        print(f"DCGM Exporter version {version} (simulated)")
        return 0
    fields = parse_counters(state.read(option_value(argv, "-f", "--collectors")))
    if not fields or not state.driver_version():
        print("Failed to initialize DCGM: no counters or no driver", file=sys.stderr)
        return 1
    return serve_metrics(option_value(argv, "-a", "--address", default=":9400"), lambda: metrics_text(fields))


def parse_counters(csv: str) -> list[tuple[str, str, str]]:
    """Field, type and help of each line."""
    rows = [[cell.strip() for cell in line.split(",", 2)] for line in csv.splitlines() if line.strip() and not line.startswith("#")]
    return [(field, kind, words) for field, kind, words in rows]


def metrics_text(fields: list[tuple[str, str, str]]) -> str:
    """The metrics of this moment."""
    every = [machine.gpu(os.uname().nodename, index) for index in range(machine.GPUS)]
    present = [gpu for gpu in every if os.path.exists(f"{DEVICES}/{gpu.bus_id[4:].lower()}")]
    lines = []
    for field, kind, words in fields:
        lines += [f"# HELP {field} {words}", f"# TYPE {field} {kind}"]
        lines += [f'{field}{{gpu="{minor}",UUID="{gpu.uuid}"}} 0' for minor, gpu in enumerate(present)]
    return "\n".join(lines) + "\n"
