"""nvidia-ctk: `--version`, `cdi` and `runtime`."""

from __future__ import annotations

import sys


def main(argv: list[str], version: str) -> int:
    """Print the version; `cdi` and `runtime` do nothing, because the node has no container engine."""
    if "--version" in argv:
        print(f"NVIDIA Container Toolkit CLI version {version}\ncommit: simulated")
        return 0
    if len(argv) > 1 and argv[1] in ("cdi", "runtime"):
        return 0
    print("nvidia-ctk: not simulated: " + " ".join(argv[1:]), file=sys.stderr)
    return 1
