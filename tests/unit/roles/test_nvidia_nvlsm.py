"""The NVLink subnet manager: the role loads its module and restarts it after a stop; the commands only record their arguments."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from support.local_play import role_tasks, run_play

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the role gives its file to root")

FILE = "# Written by clusterctl, role nvidia_driver; changes are overwritten.\nib_umad\n"
MODPROBE, RESTART = "modprobe ib_umad", "systemctl restart nvidia-fabricmanager.service"
TOOLS = {
    "modprobe": 'echo "modprobe $*" >> "$LOG"',
    "pgrep": "exit $PGREP",
    "systemctl": """case $1 in
  show) printf 'LoadState=loaded\\nActiveState=active\\nUnitFileState=enabled\\n' ;;
  *) echo "systemctl $*" >> "$LOG" ;;
esac""",
}


def apply(root: Path, *, version: str, loaded: bool = True, pgrep: int = 0, check: bool = False) -> tuple[int, str, list[str]]:
    """Run the task files nvlsm and services; exit code, output, and the commands that change something."""
    for name, text in TOOLS.items():
        (root / name).write_text(f"#!/bin/sh\n{text}\n")
        (root / name).chmod(0o755)
    variables: dict[str, Any] = {
        "nvidia_driver_nvlsm_version": version,
        "__nvidia_driver_is_loaded": loaded,
        "__nvidia_driver_nvlsm_file": str(root / "nvlsm.conf"),
        "__nvidia_driver_dropin": str(root / "dropin.conf"),
        "__nvidia_driver_fabric_services": {},
        "__nvidia_driver_services": [],
        "__nvidia_driver_package_differences": [],
    }
    log = root / "log"
    log.unlink(missing_ok=True)
    environment = {"PATH": f"{root}:{os.environ['PATH']}", "LOG": str(log), "PGREP": str(pgrep)}
    words = ["--check"] if check else []
    done = run_play(root, role_tasks("nvidia_driver", "nvlsm", "services"), *words, variables=variables, environment=environment)
    return done.code, done.output, log.read_text().splitlines() if log.exists() else []


@pytest.mark.skipif(Path("/sys/module/ib_umad").exists(), reason="this machine has ib_umad loaded")
@pytest.mark.parametrize(
    ("loaded", "pgrep", "ran"),
    [(True, 0, [MODPROBE]), (True, 1, [MODPROBE, RESTART]), (False, 1, [])],
    ids=["all well but the module", "subnet manager gone", "before the boot that loads the driver"],
)
def test_changes_on_a_board_that_needs_it(loaded: bool, pgrep: int, ran: list[str], tmp_path: Path) -> None:
    code, output, commands = apply(tmp_path, version="2025.10.12", loaded=loaded, pgrep=pgrep)
    assert code == 0, output
    assert commands == ran
    assert (tmp_path / "nvlsm.conf").read_text() == FILE


def test_no_changes_if_none_is_declared(tmp_path: Path) -> None:
    (tmp_path / "nvlsm.conf").write_text(FILE)
    code, output, commands = apply(tmp_path, version="", pgrep=1)
    assert code == 0, output
    assert commands == []
    assert not (tmp_path / "nvlsm.conf").exists()


def test_check_mode_reports_and_changes_nothing(tmp_path: Path) -> None:
    code, output, commands = apply(tmp_path, version="2025.10.12", pgrep=1, check=True)
    assert code == 0, output
    assert commands == []
    assert not (tmp_path / "nvlsm.conf").exists()
    assert "changed=2" in output


def test_a_failed_query_is_an_error(tmp_path: Path) -> None:
    code, output, commands = apply(tmp_path, version="2025.10.12", pgrep=3)
    assert code != 0
    assert "Check whether the NVLink subnet manager runs" in output
    assert RESTART not in commands
