"""dkms: what the installed stub packages stand for, built for the running kernel."""

from __future__ import annotations

import os
import sys

from . import state

# Package -> DKMS name.
_MODULES = {"mlnx-ofed-kernel-dkms": "mlnx-ofed-kernel", "kernel-mft-dkms": "kernel-mft-dkms", "nvidia-dkms-580-open": "nvidia"}


def main(argv: list[str], _version: str = "") -> int:
    """`status` lists; `build` and `install` find their module, and have nothing to compile."""
    built = {f"{name}/{version}" for package, name in _MODULES.items() if (version := state.installed(package))}
    verb = argv[1] if len(argv) > 1 else "status"
    if verb == "status":
        print("".join(f"{module}, {os.uname().release}, x86_64: installed\n" for module in sorted(built)), end="")
        return 0
    wanted = next((w for w in argv[2:] if "/" in w), "")
    if verb not in ("build", "install") or wanted not in built:
        print(f"Error! not simulated, or no such module: {' '.join(argv[1:])}", file=sys.stderr)
        return 3
    print(f"{wanted} (simulated): {verb} completed.")
    return 0
