"""dcgm-exporter: all fields of its counters file, with the value 0 for each GPU on the bus."""

from __future__ import annotations

import os
import sys

from . import machine, state
from .metrics_server import option_value, serve_metrics

# The unit of this program hides /proc/driver and the folder with the lab's faults, but not sysfs.
DEVICES = "/sys/bus/pci/devices"


def main(argv: list[str], version: str) -> int:
    """Print the version, or serve metrics. Fails like the real program without a counters file or a driver."""
    if "--version" in argv:
        print(f"DCGM Exporter version {version} (simulated)")
        return 0
    fields = parse_counters(state.read(option_value(argv, "-f", "--collectors")))
    if not fields or not state.driver_version():
        print("Failed to initialize DCGM: no counters or no driver", file=sys.stderr)
        return 1
    return serve_metrics(option_value(argv, "-a", "--address", default=":9400"), lambda: metrics_text(fields))


def parse_counters(csv: str) -> list[tuple[str, str, str]]:
    """The field, type and help text of each line."""
    rows = [[cell.strip() for cell in line.split(",", 2)] for line in csv.splitlines() if line.strip() and not line.startswith("#")]
    return [(field, kind, words) for field, kind, words in rows]


def metrics_text(fields: list[tuple[str, str, str]]) -> str:
    """The current metrics."""
    gpus = [machine.gpu(os.uname().nodename, index) for index in range(machine.GPUS)]
    present = [gpu for gpu in gpus if os.path.exists(f"{DEVICES}/{gpu.bus_id[4:].lower()}")]
    lines = []
    for field, kind, words in fields:
        lines += [f"# HELP {field} {words}", f"# TYPE {field} {kind}"]
        lines += [f'{field}{{gpu="{minor}",UUID="{gpu.uuid}"}} 0' for minor, gpu in enumerate(present)]
    return "\n".join(lines) + "\n"
