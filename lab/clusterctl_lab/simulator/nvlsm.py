"""nvlsm, the NVLink subnet manager of boards with NVSwitches of the fourth generation: an OpenSM that the fabric manager's unit starts."""

from __future__ import annotations

from . import daemons


def main(argv: list[str], version: str) -> int:
    """Answer `--version`, or stay."""
    if "--version" in argv:
        print(f"OpenSM {version} (simulated)")
        return 0
    return daemons.run_until_sigterm("nvlsm")
