"""show_gids: the GID tables of all HCAs."""

from __future__ import annotations

import glob
import ipaddress

from .state import read
from .sysfs_rdma import ROOT


def main(_argv: list[str], _version: str) -> int:
    """Show all devices in the format of the real script."""
    print("DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV")
    print("---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---")
    count = 0
    for path in sorted(glob.glob(f"{ROOT}/*/ports/1/gids/*")):
        device, index = path.split("/")[4], path.rpartition("/")[2]
        at = f"{ROOT}/{device}/ports/1/gid_attrs"
        kind, gid = read(f"{at}/types/{index}"), read(path)
        if kind:
            mapped = ipaddress.IPv6Address(gid).ipv4_mapped
            version = "v2" if kind.endswith("v2") else "v1"
            print(f"{device}\t1\t{index}\t{gid}\t{mapped or ''!s:16}\t{version}\t{read(f'{at}/ndevs/{index}')}")
            count += 1
    print(f"n_gids_found={count}")
    return 0
