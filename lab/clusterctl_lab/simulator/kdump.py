"""kdump-config, and the init script of kdump-tools that its service runs: load or unload the crash kernel."""

from __future__ import annotations

import re
import sys

from . import crash_kernel, state

DEFAULTS = "/etc/default/kdump-tools"
_ACTIONS = {"start": True, "load": True, "restart": True, "reload": True, "stop": False, "unload": False}


def main(argv: list[str], _version: str) -> int:
    """Load, unload or show the crash kernel, as the real scripts do without a dump to save."""
    action = argv[1] if len(argv) > 1 else ""
    if action == "status":
        ready = (state.read(f"/sys/{crash_kernel.LOADED}") or "0").strip() == "1"
        print("current state   : " + ("ready to kdump" if ready else "Not ready to kdump"))
        return 0 if ready else 1
    if action not in _ACTIONS:
        print(f"Usage: {argv[0]} {{help|test|show|status|load|unload|savecore|propagate|symlinks kernel-version}}", file=sys.stderr)
        return 1
    if argv[0].startswith("/etc/init.d/") and not _in_use():
        return 0
    if _ACTIONS[action] and int((state.read(f"/sys/{crash_kernel.SIZE}") or "0").strip() or 0) == 0:
        print("no crashkernel= parameter in the kernel cmdline ... failed!", file=sys.stderr)
        return 1
    with open(f"/sys/{crash_kernel.LOADED}", "w", encoding="ascii") as file:
        file.write("1\n" if _ACTIONS[action] else "0\n")
    print("loaded kdump kernel" if _ACTIONS[action] else "unloaded kdump kernel")
    return 0


def _in_use() -> bool:
    values = re.findall(r"^\s*USE_KDUMP=[\"']?(\d+)", state.read(DEFAULTS) or "", re.MULTILINE)
    return bool(values) and values[-1] != "0"
