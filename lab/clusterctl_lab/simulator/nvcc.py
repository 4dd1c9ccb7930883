"""nvcc: its release; it compiles nothing."""

from __future__ import annotations

import sys


def main(argv: list[str], version: str) -> int:
    """`--version` prints what the toolkit's compiler does; `version` is the toolkit's, e.g. 13.0.2."""
    if "--version" in argv or "-V" in argv:
        release = ".".join(version.split(".")[:2])
        print("nvcc: NVIDIA (R) Cuda compiler driver (simulated)")
        print(f"Cuda compilation tools, release {release}, V{version}")
        return 0
    print("nvcc fatal   : this compiler is simulated", file=sys.stderr)
    return 1
