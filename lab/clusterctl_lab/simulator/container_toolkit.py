"""nvidia-ctk: its version, and the two commands that roles use."""

from __future__ import annotations

import sys


def main(argv: list[str], version: str) -> int:
    """`--version` prints; `cdi` and `runtime` have nothing to do without a container engine in the node."""
    if "--version" in argv:
        print(f"NVIDIA Container Toolkit CLI version {version}\ncommit: simulated")
        return 0
    if len(argv) > 1 and argv[1] in ("cdi", "runtime"):
        return 0
    print("nvidia-ctk: not simulated: " + " ".join(argv[1:]), file=sys.stderr)
    return 1
