"""The script of role ofed that sets the largest read request of adapters."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from support.checks import write_files
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = ROOT / "roles" / "ofed" / "files" / "clusterctl-ofed"
ADDRESS = "0000:18:00.0"
# setpci -s ADDRESS CAP_EXP+8.w[=VALUE:MASK], on a file.
SETPCI = """#!/bin/sh
case $3 in
  *=*) value=${3#*=}; printf '%04x\\n' "$((0x${value%:*}))" >"$ROOT/register" ;;
  *) cat "$ROOT/register" ;;
esac
"""
DENIED = SETPCI.replace("  *=*) ", "  *=*) echo 'setpci: write failed: Operation not permitted' >&2; exit 1; ")


def run(root: Path, mode: str, setpci: str, lockdown: str = "[none] integrity confidentiality") -> subprocess.CompletedProcess[str]:
    """Run the script for one adapter that reads with 512 bytes and is declared with 4096."""
    texts = {"/etc/clusterctl/ofed.conf": "# Written by clusterctl\nmlx5_0 4096\n", "/register": "2000\n", "/bin/setpci": setpci}
    write_files(root, {**texts, f"/sys/bus/pci/devices/{ADDRESS}/vendor": "0x15b3\n", "/sys/kernel/security/lockdown": lockdown + "\n"})
    (root / "bin" / "setpci").chmod(0o755)
    (root / "sys/class/infiniband/mlx5_0").mkdir(parents=True)
    (root / "sys/class/infiniband/mlx5_0/device").symlink_to(root / "sys/bus/pci/devices" / ADDRESS)
    environment = {"PATH": f"{root}/bin:{os.environ['PATH']}", "ROOT": str(root)}
    return subprocess.run(["sh", str(SCRIPT), mode, str(root)], capture_output=True, text=True, check=False, env=environment)


def test_it_sets_the_declared_size(tmp_path: Path) -> None:
    assert (run(tmp_path, "apply", SETPCI).returncode, (tmp_path / "register").read_text()) == (0, "5000\n")


def test_a_write_that_changes_nothing_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, "apply", DENIED)
    assert (done.returncode, done.stdout) == (1, f"mlx5_0 ({ADDRESS}): declared 4096 bytes, found 512\n")


@pytest.mark.parametrize("mode", ["apply", "check"])
@pytest.mark.parametrize("level", ["integrity", "confidentiality"])
def test_a_locked_down_kernel_is_the_reason(mode: str, level: str, tmp_path: Path) -> None:
    """pci_write_config of drivers/pci/pci-sysfs.c: EPERM under LOCKDOWN_PCI_ACCESS, which is part of integrity (kernel_lockdown(7))."""
    done = run(tmp_path, mode, DENIED, "none integrity confidentiality".replace(level, f"[{level}]"))
    assert done.returncode == 2
    assert f"the kernel is locked down ({level}) and lets no program write PCI registers" in done.stderr
