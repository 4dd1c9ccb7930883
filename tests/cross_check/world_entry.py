"""Runs in namespaces of its own: builds the simulated /sys and /proc of a machine, then runs commands in it. Plan on standard input, answers on standard output, JSON."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

LIMIT_S = 60
# The lab's own folders. They are hidden by empty ones, so that nothing of this machine is read or written.
_EMPTY = ("/run", "/boot", "/var/lib", "/etc/modprobe.d", "/etc/modules-load.d")


def main() -> int:
    plan = json.load(sys.stdin)
    sys.path.insert(0, plan["lab"])
    from clusterctl_lab.simulator import mounts  # noqa: PLC0415 the plan has its path

    for folder in _EMPTY:
        if Path(folder).is_dir():
            mounts.mount("cross-check", folder, "tmpfs")
    mounts.mount("cross-check", "/sys", "sysfs")  # that of the new network namespace
    socket.sethostname(plan["node"])
    _write("/run/clusterctl-lab/hardware", plan["hardware"])
    _write("/var/lib/clusterctl-lab/faults.json", json.dumps(plan["faults"]))
    _build(plan["cmdline"], plan["node"])
    for path, text in plan["files"].items():
        _write(path, text)
    json.dump([_run(argv, plan["environment"]) for argv in plan["commands"]], sys.stdout)
    return 0


def _build(cmdline: str, node: str) -> None:
    from clusterctl_lab.simulator import boot, fault_effects, machine, state  # noqa: PLC0415 reads the hardware's name when it is imported
    from clusterctl_lab.simulator.hugepages import pages_from_cmdline  # noqa: PLC0415 likewise

    state.set_flag("link-type", "ETH" if machine.THIS.ethernet else "IB")
    pages = pages_from_cmdline(cmdline, machine.NUMA_NODES, machine.THIS.huge_kib_per_node)
    boot.create_sysfs(node, cmdline, pages)
    boot.create_proc_files(cmdline, pages)
    fault_effects.apply_faults(state.read_faults())  # as the supervisor does


def _write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def _run(argv: list[str], environment: dict[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        argv, env={**os.environ, **environment}, capture_output=True, text=True, timeout=LIMIT_S, check=False, stdin=subprocess.DEVNULL
    )
    return {"rc": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


if __name__ == "__main__":
    sys.exit(main())
