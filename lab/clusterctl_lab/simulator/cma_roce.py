"""cma_roce_tos and cma_roce_mode: what connections of the RDMA connection manager get by default."""

from __future__ import annotations

import argparse
import os

from . import nic_settings
from .sysfs_rdma import ROOT


def tos_command(argv: list[str]) -> int:
    """Show or set (-t) the type of service."""
    asked = _parse(argv, "-t")
    adapter = nic_settings.load_settings(asked.device)
    if asked.value is not None:
        adapter.cma_tos = asked.value
        nic_settings.save_settings(asked.device, adapter)
    print(adapter.cma_tos)
    return 0


def mode_command(argv: list[str]) -> int:
    """Show or set (-m) the version."""
    asked = _parse(argv, "-m")
    adapter = nic_settings.load_settings(asked.device)
    if asked.value is not None:
        adapter.cma_version = asked.value
        nic_settings.save_settings(asked.device, adapter)
    print("RoCE v2" if adapter.cma_version == 2 else "IB/RoCE v1")
    return 0


def _parse(argv: list[str], option: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=os.path.basename(argv[0]))
    parser.add_argument("-d", dest="device", required=True)
    parser.add_argument("-p", dest="port", type=int, default=1)
    parser.add_argument(option, dest="value", type=int)
    asked = parser.parse_args(argv[1:])
    if not os.path.isdir(f"{ROOT}/{asked.device}/ports/{asked.port}"):
        parser.error(f"Can't find device {asked.device}")
    return asked
