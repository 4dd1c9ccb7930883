"""nvidia-fabricmanager-start.sh: --mode precheck, and --mode start, which starts nvlsm on boards that need it, and nv-fabricmanager."""

from __future__ import annotations

import os
import subprocess
import sys

from . import machine, state

NVLSM = "/opt/nvidia/nvlsm/sbin/nvlsm"
FABRICMANAGER = "/usr/bin/nv-fabricmanager"
CONFIG = "/usr/share/nvidia/nvswitch/fabricmanager.cfg"


def main(argv: list[str], version: str) -> int:  # noqa: ARG001 every command has it
    """Check, or check and start. Both end as soon as that is done."""
    mode = argv[argv.index("--mode") + 1] if "--mode" in argv[:-1] else ""
    if mode not in ("precheck", "start"):
        print(f"nvidia-fabricmanager-start.sh: not simulated: {' '.join(argv[1:])}", file=sys.stderr)
        return 2
    problem = _problem()
    if problem:
        print(f"Detected NVL5+ system\n{problem}, fabric manager cannot be started", file=sys.stderr)
        return 1
    return 0 if mode == "precheck" else _start()


def _problem() -> str:
    if not machine.THIS.subnet_manager:
        return ""
    if not state.is_module_loaded("ib_umad"):
        return 'Kernel module "ib_umad" has not been loaded'
    return "" if os.path.exists(NVLSM) else f"{NVLSM}: not found"


def _start() -> int:
    if machine.THIS.subnet_manager:
        print("Detected NVL5+ system")
        subnet_manager = subprocess.Popen([NVLSM, "-B"], start_new_session=True)
    else:
        print("Detected Pre-NVL5 system")
        subnet_manager = None
    code = subprocess.call([FABRICMANAGER, "-c", CONFIG])
    if code and subnet_manager:
        subnet_manager.terminate()
        subnet_manager.wait()
    if not code:
        print('Started "Nvidia Fabric Manager"')
    return code
