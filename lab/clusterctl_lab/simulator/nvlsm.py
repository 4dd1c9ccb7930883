"""nvlsm, the NVLink subnet manager for boards with fourth-generation NVSwitches. It is an OpenSM that the fabric manager's unit starts."""

from __future__ import annotations

from . import daemons


def main(argv: list[str], version: str) -> int:
    """Print the version, or run until SIGTERM."""
    if "--version" in argv:
        print(f"OpenSM {version} (simulated)")
        return 0
    return daemons.run_until_sigterm("nvlsm")
