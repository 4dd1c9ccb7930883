"""devlink of iproute2: `-j dev info`, a list of the adapters whose driver is loaded. The firmware in the flash is also the running one.

Keys and their order: torvalds/linux, mlx5/core/devlink.c (6.8); the JSON: iproute2, the commit of `devlink dev info` (Netronome, 2019).
"""

from __future__ import annotations

import json
import sys

from . import machine, state, sysfs_rdma


def main(argv: list[str], _version: str = "") -> int:
    """Print what the drivers of all adapters report."""
    if argv[1:] != ["-j", "dev", "info"]:
        print("not simulated: " + " ".join(argv), file=sys.stderr)
        return 1
    adapters = sysfs_rdma.devices() if state.is_module_loaded("mlx5_core") else []
    print(json.dumps({"info": {f"pci/{address}": _info() for _, address in adapters}}, separators=(",", ":")))
    return 0


def _info() -> dict[str, object]:
    firmware = {"fw.version": machine.THIS.hca_firmware, "fw": machine.THIS.hca_firmware}
    return {"driver": "mlx5_core", "versions": {"fixed": {"fw.psid": machine.THIS.hca_board}, "running": firmware, "stored": firmware}}
