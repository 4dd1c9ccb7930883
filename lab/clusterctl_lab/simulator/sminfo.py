"""sminfo: the master subnet manager of a port."""

from __future__ import annotations

import os

from .perfquery import no_port
from .state import read
from .subnet_key import FAILED, report_silence, subnet_key
from .sysfs_rdma import ROOT


def main(argv: list[str], _version: str) -> int:
    """Run with the options -C DEVICE -P PORT."""
    options = dict(zip(argv[1::2], argv[2::2], strict=False))
    device, number = options.get("-C", "mlx5_0"), options.get("-P", "1")
    if not os.path.isdir(f"{ROOT}/{device}/ports/{number}"):
        return no_port("sminfo", device, number)
    lid = int(read(f"{ROOT}/{device}/ports/{number}/sm_lid") or "0", 16)
    if lid == 0:
        print("sminfo: iberror: failed: query")
        return FAILED
    if subnet_key().refuses:
        # opensm 3.3.23, osm_sminfo_rcv.c: a query without the key is not answered.
        report_silence(f"Lid {lid}", waited=True)
        print("sminfo: iberror: failed: query")
        return FAILED
    print(f"sminfo: sm lid {lid} sm guid 0x2c5eab0300b87b40, activity count 652 priority 14 state 3 SMINFO_MASTER")
    return 0
