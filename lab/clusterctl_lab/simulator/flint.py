"""flint and mstflint: `-d DEVICE query`."""

from __future__ import annotations

import sys

from . import machine
from .nv_config import hca_index_of_address


def main(argv: list[str], _version: str = "") -> int:
    """Print the firmware in the flash of an adapter, which is also the running firmware. Burning is not simulated."""
    device = next((argv[i + 1] for i, word in enumerate(argv[:-1]) if word in ("-d", "--device")), "")
    index = hca_index_of_address(device)
    if index is None:
        print(f"-E- Cannot open Device: {device}. No such file or directory.", file=sys.stderr)
        return 1
    if not {"q", "query"} & set(argv):
        print("-E- not simulated: " + " ".join(argv[1:]), file=sys.stderr)
        return 1
    rows = {
        "Image type": "FS4",
        "FW Version": machine.THIS.hca_firmware,
        "FW Release Date": "7.5.2024",
        "Product Version": machine.THIS.hca_firmware,
        "Description": "UID                GuidsNumber",
        "PSID": machine.THIS.hca_board,
        "Security Attributes": "simulated",
    }
    print("".join(f"{name + ':':<22} {value}\n" for name, value in rows.items()), end="")
    return 0
