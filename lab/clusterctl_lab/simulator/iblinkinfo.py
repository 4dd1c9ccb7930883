"""iblinkinfo -l with a direct route: the link of one port of this machine, seen from the HCA or from the leaf switch."""

from __future__ import annotations

import argparse
import os
import sys

from . import machine
from .cabling import hca_devices, switch_port
from .state import read
from .subnet_key import report_silence, subnet_key
from .sysfs_rdma import ROOT

# The GUID of the leaf switch of rail 0.
SWITCH_GUID = 0x0200005E00000000
_LANES = {800: "212.5", 400: "106.25", 200: "53.125", 100: "25.78125"}
_DOWN = '0x{near} "{name:>30}" {lid:6} {port:4}[  ] ==(                Down/ Polling)==>             [  ] "" ( )'
# A QM9700 has 64 NDR ports. Only the port of this machine has a link.
_SWITCH_PORTS = 64
_LINK = '0x{near} "{name:>30}" {lid:6} {port:4}[  ] ==( 4X {speed:>13} Gbps Active/  LinkUp)==>  0x{far} {far_lid:6} {far_port:4}[  ] "{far_name}" ( )'


def main(argv: list[str], version: str) -> int:
    """Print the link from the HCA (-D 0), or all ports of the leaf switch (-D 0,1)."""
    parser = argparse.ArgumentParser(prog="iblinkinfo")
    parser.add_argument("-l", action="store_true")
    parser.add_argument("-C", dest="device", default="mlx5_0")
    parser.add_argument("-P", dest="port", type=int, default=1)
    parser.add_argument("-D", dest="route", default="0")
    parser.add_argument("-n", dest="hops")
    parser.add_argument("-V", action="version", version=f"iblinkinfo BUILD VERSION: {version} (simulated)")
    options = parser.parse_args(argv[1:])
    at = f"{ROOT}/{options.device}"
    if options.device not in hca_devices() or read(f"{at}/ports/{options.port}/link_layer") != "InfiniBand":
        print(f"ibwarn: [{os.getpid()}] mad_rpc_open_port: can't open UMAD port ({options.device}:{options.port})", file=sys.stderr)
        print(f"Failed to open {options.device} port {options.port}", file=sys.stderr)
        return 1
    if not machine.is_rail(options.device):
        print(f"iblinkinfo: not simulated: {options.device} reaches only the NVSwitches of this node", file=sys.stderr)
        return 1
    if subnet_key().refuses:
        report_silence("DR path slid 65535; dlid 65535; 0")
        print("Failed to get local Node Info", file=sys.stderr)
        return 1
    print("\n".join(link_lines(options.device, options.port, leaf=options.route != "0")))
    return 0


def link_lines(device: str, port: int, *, leaf: bool) -> list[str]:
    """The output for the link of one HCA: one line, or one for each port of its leaf switch."""
    at = f"{ROOT}/{device}"
    index = machine.hca_index(device)
    end = switch_port(index)
    guid = read(f"{at}/node_guid").replace(":", "")
    rate = int(read(f"{at}/ports/{port}/rate").partition(" ")[0] or 0)
    own = {"guid": guid, "name": f"{os.uname().nodename} {device}", "lid": int(read(f"{at}/ports/{port}/lid") or "0", 16), "port": port}
    switch = {"guid": f"{SWITCH_GUID + index:016x}", "name": f"MF0;{end.switch}:MQM9700/U1", "lid": 2 + index, "port": end.port}
    near, far = (switch, own) if leaf else (own, switch)
    link = _LINK.format(
        near=near["guid"],
        name=near["name"],
        lid=near["lid"],
        port=near["port"],
        speed=_LANES.get(rate, "2.5"),
        far=far["guid"],
        far_lid=far["lid"],
        far_port=far["port"],
        far_name=far["name"],
    )
    if not leaf:
        return [link]
    ports = range(1, max(_SWITCH_PORTS, end.port) + 1)
    return [link if p == end.port else _DOWN.format(near=switch["guid"], name=switch["name"], lid=switch["lid"], port=p) for p in ports]
