"""perfquery: shows the counters of a port, or clears them (-R)."""

from __future__ import annotations

import glob
import os
import sys

from .pseudo_files import write_files
from .sysfs_rdma import ROOT


def main(argv: list[str], _version: str) -> int:
    """Run with the options [-R] -C DEVICE -P PORT."""
    words = [w for w in argv[1:] if w != "-R"]
    options = dict(zip(words[::2], words[1::2], strict=False))
    folder = f"{ROOT}/{options.get('-C', 'mlx5_0')}/ports/{options.get('-P', '1')}/counters"
    files = sorted(glob.glob(f"{folder}/*"))
    if not files:
        print("perfquery: iberror: failed: can't open UMAD port", file=sys.stderr)
        return 1
    if "-R" in argv:
        write_files(folder, {os.path.basename(f): 0 for f in files})
        return 0
    print("# Port counters")
    for file in files:
        with open(file, encoding="utf-8") as counter:
            print(f"{os.path.basename(file)}:".ljust(33, ".") + counter.read().strip())
    return 0
