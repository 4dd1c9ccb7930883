"""saquery PIR LID: the subnet manager's record of a port of this machine, of which the M_Key is not part."""

from __future__ import annotations

import argparse
import glob
import sys

from .perfquery import no_port
from .port_info_text import port_info_lines
from .state import read
from .subnet_key import FAILED, subnet_key
from .sysfs_rdma import ROOT


def main(argv: list[str], version: str) -> int:
    """Run with the options -C DEVICE -P PORT PIR LID."""
    parser = argparse.ArgumentParser(prog="saquery")
    parser.add_argument("-C", dest="device", default="mlx5_0")
    parser.add_argument("-P", dest="port", default="1")
    parser.add_argument("-V", action="version", version=f"saquery BUILD VERSION: {version} (simulated)")
    parser.add_argument("query", choices=["PIR"])
    parser.add_argument("lid", type=int)
    options = parser.parse_args(argv[1:])
    source = f"{ROOT}/{options.device}/ports/{options.port}"
    if read(f"{source}/link_layer") != "InfiniBand":
        return no_port("saquery", options.device, options.port)
    if not int(read(f"{source}/sm_lid") or "0", 16):
        print("saquery: not simulated: a port without a subnet manager", file=sys.stderr)
        return FAILED
    target = next((p for p in sorted(glob.glob(f"{ROOT}/*/ports/*")) if int(read(f"{p}/lid") or "0", 16) == options.lid), "")
    if not target:
        print("saquery: not simulated: a port of another machine", file=sys.stderr)
        return FAILED
    number = target.rpartition("/")[2]
    print(f"PortInfoRecord dump:\n\tRID\n\t\tEndPortLid..............{options.lid}\n\t\tPortNum.................{number}")
    print("\t\tOptions.................0x0\n\tPortInfo dump:")
    print("\n".join(f"\t\t{line}" for line in port_info_lines(target, subnet_key(), shows_keys=False)))
    return 0
