"""prometheus-node-exporter: build information, load, and the files of the textfile collector."""

from __future__ import annotations

import glob

from . import state
from .metrics_server import option_value, serve_metrics


def main(argv: list[str], version: str) -> int:
    """Print the version, or serve metrics."""
    if "--version" in argv:
        print(f"node_exporter, version {version} (simulated)")
        return 0
    folder = option_value(argv, "--collector.textfile.directory")
    return serve_metrics(option_value(argv, "--web.listen-address", default=":9100"), lambda: metrics_text(version, folder))


def metrics_text(version: str, folder: str) -> str:
    """The current metrics."""
    load = (state.read("/proc/loadavg") or "0").split()[0]
    lines = [f'node_exporter_build_info{{version="{version}"}} 1', f"node_load1 {load}"]
    lines += [state.read(path) for path in sorted(glob.glob(f"{folder}/*.prom")) if folder]
    return "\n".join(lines) + "\n"
