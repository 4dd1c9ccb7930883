"""ibstat: shows /sys/class/infiniband in its format."""

from __future__ import annotations

import os
import sys

from . import state

ROOT = "/sys/class/infiniband"


def main(argv: list[str], version: str) -> int:
    """Show all HCAs, or the one named."""
    if "-V" in argv or "--version" in argv:
        print(f"ibstat BUILD VERSION: {version} (simulated)")
        return 0
    names = sorted(os.listdir(ROOT)) if os.path.isdir(ROOT) else []
    selected = [w for w in argv[1:] if not w.startswith("-")]
    if "-l" in argv:
        print("\n".join(names))
        return 0
    if not names or (selected and selected[0] not in names):
        print(
            "ibpanic: [1] main: stat of IB device failed: No such file or directory"
            if selected
            else "ibpanic: [1] main: can't list IB device names",
            file=sys.stderr,
        )
        return 255
    print("".join(hca_text(name) for name in (selected[:1] or names)), end="")
    return 0


def hca_text(name: str) -> str:
    """The output for one HCA."""
    at, port = f"{ROOT}/{name}", f"{ROOT}/{name}/ports/1"
    guid = "0x" + state.read(f"{at}/node_guid").replace(":", "")
    rows = {
        "CA type": state.read(f"{at}/hca_type"),
        "Number of ports": "1",
        "Firmware version": state.read(f"{at}/fw_ver"),
        "Hardware version": state.read(f"{at}/hw_rev"),
        "Node GUID": guid,
        "System image GUID": guid,
    }
    ports = {
        "State": state.read(f"{port}/state").rpartition(": ")[2].capitalize(),
        "Physical state": state.read(f"{port}/phys_state").rpartition(": ")[2],
        "Rate": state.read(f"{port}/rate").partition(" ")[0],
        "Base lid": str(int(state.read(f"{port}/lid") or "0", 16)),
        "LMC": "0",
        "SM lid": str(int(state.read(f"{port}/sm_lid") or "0", 16)),
        "Capability mask": state.read(f"{port}/cap_mask"),
        "Port GUID": guid,
        "Link layer": state.read(f"{port}/link_layer"),
    }
    head = f"CA '{name}'\n" + "".join(f"\t{k}: {v}\n" for k, v in rows.items())
    return head + "\tPort 1:\n" + "".join(f"\t\t{k}: {v}\n" for k, v in ports.items())
