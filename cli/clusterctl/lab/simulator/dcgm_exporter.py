"""dcgm-exporter: every field of its counters file, 0 for every GPU of a healthy board."""

from __future__ import annotations

import sys

from . import state
from .gpus import NoDriverError, gpus
from .metrics_server import option, serve


def main(argv: list[str], version: str) -> int:
    """Answer `--version`, or serve; without the counters file or the driver it ends as the real one."""
    if "--version" in argv:
        print(f"DCGM Exporter version {version} (simulated)")
        return 0
    fields = counters(state.read(option(argv, "-f", "--collectors")))
    if not fields or not state.driver_version():
        print("Failed to initialize DCGM: no counters or no driver", file=sys.stderr)
        return 1
    return serve(option(argv, "-a", "--address", default=":9400"), lambda: text(fields))


def counters(csv: str) -> list[tuple[str, str, str]]:
    """Field, type and help of each line."""
    rows = [[cell.strip() for cell in line.split(",", 2)] for line in csv.splitlines() if line.strip() and not line.startswith("#")]
    return [(field, kind, words) for field, kind, words in rows]


def text(fields: list[tuple[str, str, str]]) -> str:
    """The metrics of this moment."""
    try:
        views = [view for view in gpus() if not view.lost]
    except NoDriverError:
        views = []
    lines = []
    for field, kind, words in fields:
        lines += [f"# HELP {field} {words}", f"# TYPE {field} {kind}"]
        lines += [f'{field}{{gpu="{view.minor}",UUID="{view.gpu.uuid}"}} 0' for view in views]
    return "\n".join(lines) + "\n"
