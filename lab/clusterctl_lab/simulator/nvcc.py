"""nvcc: `--version` only."""

from __future__ import annotations

import sys


def main(argv: list[str], version: str) -> int:
    """Print the version of the toolkit, e.g. 13.0.2; compiling is not simulated."""
    if "--version" in argv or "-V" in argv:
        release = ".".join(version.split(".")[:2])
        print("nvcc: NVIDIA (R) Cuda compiler driver (simulated)")
        print(f"Cuda compilation tools, release {release}, V{version}")
        return 0
    print("nvcc fatal   : this compiler is simulated", file=sys.stderr)
    return 1
