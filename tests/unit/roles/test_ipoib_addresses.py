"""The script of role infiniband and the validator compare addresses of IPoIB interfaces as addresses: one of IPv6 has many spellings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_validators import test_infiniband as module
from support.checks import InventedNode, run_some_checks, write_files
from support.roles import ROOT, load_role

if TYPE_CHECKING:
    from pathlib import Path

ROLE = ROOT / "roles" / "infiniband"
SHOWN = [{"mtu": 4092, "flags": ["UP"], "addr_info": [{"local": "fd02::1", "prefixlen": 64}, {"local": "10.0.0.1", "prefixlen": 24}]}]


def differs(root: Path, address: str) -> tuple[bool, bool]:
    """Whether the script, and whether the validator, reports a difference."""
    row = {"device": "mlx5_0", "port": 1, "interface": "ib0", "mode": "datagram", "mtu": 4092, "address": address}
    write_files(root, {"/sys/class/net/ib0/mode": "datagram"})
    (root / "ip").write_text(f"#!/bin/sh\necho '{json.dumps(SHOWN)}'\n")
    (root / "ip").chmod(0o755)
    argv = [sys.executable, str(ROLE / "files" / "clusterctl_infiniband.py"), "check", "--root", str(root)]
    declared = ["--declared", json.dumps({"ports": [], "ipoib": [row]})]
    environment = {**os.environ, "PATH": f"{root}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run([*argv, *declared], env=environment, capture_output=True, text=True, check=False, timeout=20)
    spec: dict[str, Any] = {**load_role(ROLE).defaults, "infiniband_ipoib": [row]}
    commands = {f"ip -j {what} show dev ib0": json.dumps(SHOWN) for what in ("addr", "link")}
    findings = run_some_checks(module, spec, InventedNode(root, commands), ["test_ip_over_infiniband"])
    (found,) = (f for check, f in findings.items() if check.endswith("address.running"))
    return "address" in done.stdout, found.expected != found.found


@pytest.mark.parametrize("address", ["fd02::1/64", "FD02:0:0::0001/64", "10.0.0.1/24", "10.0.0.1/255.255.255.0"])
def test_one_address_in_several_spellings(tmp_path: Path, address: str) -> None:
    assert differs(tmp_path, address) == (False, False)


@pytest.mark.parametrize("address", ["fd02::2/64", "fd02::1/48", "10.0.0.1/25"])
def test_another_address(tmp_path: Path, address: str) -> None:
    assert differs(tmp_path, address) == (True, True)
