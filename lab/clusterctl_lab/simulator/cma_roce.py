"""cma_roce_tos and cma_roce_mode: default type of service and RoCE version of RDMA connection manager connections."""

from __future__ import annotations

import argparse
import os

from . import nic_settings
from .sysfs_rdma import ROOT


def tos_command(argv: list[str]) -> int:
    """Show or set (-t) the type of service."""
    options = _parse(argv, "-t")
    adapter = nic_settings.load_settings(options.device)
    if options.value is not None:
        adapter.cma_tos = options.value
        nic_settings.save_settings(options.device, adapter)
    print(adapter.cma_tos)
    return 0


def mode_command(argv: list[str]) -> int:
    """Show or set (-m) the RoCE version."""
    options = _parse(argv, "-m")
    adapter = nic_settings.load_settings(options.device)
    if options.value is not None:
        adapter.cma_version = options.value
        nic_settings.save_settings(options.device, adapter)
    print("RoCE v2" if adapter.cma_version == 2 else "IB/RoCE v1")
    return 0


def _parse(argv: list[str], option: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=os.path.basename(argv[0]))
    parser.add_argument("-d", dest="device", required=True)
    parser.add_argument("-p", dest="port", type=int, default=1)
    parser.add_argument(option, dest="value", type=int)
    options = parser.parse_args(argv[1:])
    if not os.path.isdir(f"{ROOT}/{options.device}/ports/{options.port}"):
        parser.error(f"Can't find device {options.device}")
    return options
