"""smpquery portinfo: what a port of this machine answers about itself to a query without the M_Key (`-y 0`)."""

from __future__ import annotations

import argparse

from .perfquery import no_port
from .port_info_text import port_info_lines
from .state import read
from .subnet_key import FAILED, report_silence, subnet_key
from .sysfs_rdma import ROOT

_ROUTE = "DR path slid 65535; dlid 65535; 0"


def main(argv: list[str], version: str) -> int:
    """Run with the options [-K] -y 0 -C DEVICE -P PORT -D portinfo 0."""
    parser = argparse.ArgumentParser(prog="smpquery")
    parser.add_argument("-C", dest="device", default="mlx5_0")
    parser.add_argument("-P", dest="port", default="1")
    parser.add_argument("-t", dest="limit_ms")
    parser.add_argument("-K", dest="shows_keys", action="store_true")
    parser.add_argument("-y", dest="key", choices=["0"])
    parser.add_argument("-D", dest="direct", action="store_true", required=True)
    parser.add_argument("-V", action="version", version=f"smpquery BUILD VERSION: {version} (simulated)")
    parser.add_argument("operation", choices=["portinfo"])
    parser.add_argument("route", choices=["0"])
    options = parser.parse_args(argv[1:])
    port = f"{ROOT}/{options.device}/ports/{options.port}"
    if read(f"{port}/link_layer") != "InfiniBand":
        return no_port("smpquery", options.device, options.port)
    key = subnet_key()
    if key.refuses:
        report_silence(_ROUTE)
        print("smpquery: iberror: failed: operation portinfo: port info query failed")
        return FAILED
    print(f"# Port info: {_ROUTE} port 0")
    print("\n".join(port_info_lines(port, key, shows_keys=options.shows_keys)))
    return 0
