"""The script of role infiniband as a real process over a tree: what a snapshot keeps when an adapter is reset."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = ROOT / "roles" / "infiniband" / "files" / "clusterctl_infiniband.py"
SNAPSHOT = "run/clusterctl/infiniband-counters.json"
LONG_AGO = "2026-11-20T10:00:00+00:00"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, "proc/sys/kernel/random/boot_id", "b1")
    write(tmp_path, "etc/clusterctl/infiniband.json", json.dumps({"ports": [{"device": d, "port": 1} for d in ("mlx5_0", "mlx5_1")]}))
    for device in ("mlx5_0", "mlx5_1"):
        count(tmp_path, device, port_rcv_data=1000, link_downed=0)
    return tmp_path


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def count(root: Path, device: str, **counters: int) -> None:
    for name, value in counters.items():
        write(root, f"sys/class/infiniband/{device}/ports/1/counters/{name}", f"{value}\n")


def stored(root: Path, what: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, str(SCRIPT), "counters", what, "--root", str(root)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads((root / SNAPSHOT).read_text())
    return found


def aged(root: Path, **fields: Any) -> None:
    """The stored snapshot was taken long ago."""
    before = json.loads((root / SNAPSHOT).read_text())
    write(root, SNAPSHOT, json.dumps({**before, "taken_at": LONG_AGO, "times": dict.fromkeys(before["ports"], LONG_AGO), **fields}))


def test_the_reset_of_one_adapter_forgets_the_growth_of_no_other(root: Path) -> None:
    stored(root, "keep")
    aged(root)
    count(root, "mlx5_0", port_rcv_data=10, link_downed=0)
    count(root, "mlx5_1", port_rcv_data=9000, link_downed=4)
    found = stored(root, "keep")
    assert found["ports"] == {"mlx5_0/1": {"port_rcv_data": 10, "link_downed": 0}, "mlx5_1/1": {"port_rcv_data": 1000, "link_downed": 0}}
    assert (found["taken_at"], found["times"]["mlx5_1/1"], found["cleared"]) == (LONG_AGO, LONG_AGO, False)
    assert found["times"]["mlx5_0/1"] > LONG_AGO


@pytest.mark.parametrize("what", ["snapshot", "keep"])
def test_a_snapshot_of_another_boot_is_not_kept(root: Path, what: str) -> None:
    stored(root, "keep")
    aged(root, boot_id="b0")
    count(root, "mlx5_1", link_downed=4)
    found = stored(root, what)
    assert found["ports"]["mlx5_1/1"] == {"port_rcv_data": 1000, "link_downed": 4}
    assert found["taken_at"] == min(found["times"].values()) > LONG_AGO


def test_a_new_snapshot_forgets_all_growth(root: Path) -> None:
    stored(root, "keep")
    aged(root)
    count(root, "mlx5_1", link_downed=4)
    assert stored(root, "snapshot")["ports"]["mlx5_1/1"]["link_downed"] == 4


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"ports": []}', '{"ports": {"mlx5_0/1": 5}, "taken_at": "x", "boot_id": "b1"}', '{"boot_id": "b1"}']
)
def test_a_snapshot_that_cannot_be_read_is_replaced(root: Path, text: str) -> None:
    write(root, SNAPSHOT, text)
    assert set(stored(root, "keep")["ports"]) == {"mlx5_0/1", "mlx5_1/1"}


def test_a_snapshot_of_an_older_version_is_kept(root: Path) -> None:
    """It has no time of each port."""
    stored(root, "keep")
    before = json.loads((root / SNAPSHOT).read_text())
    del before["times"]
    write(root, SNAPSHOT, json.dumps({**before, "taken_at": LONG_AGO}))
    count(root, "mlx5_1", link_downed=4)
    found = stored(root, "keep")
    assert (found["ports"]["mlx5_1/1"]["link_downed"], found["times"]["mlx5_1/1"]) == (0, LONG_AGO)
