"""The role storage_client and its validators with a real FUSE file system (bindfs) on a container node."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.storage_node import StorageNode

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.containers,
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed"),
    pytest.mark.skipif(not Path("/dev/fuse").exists(), reason="/dev/fuse is missing"),
]

PACKAGES = ("bindfs", "fuse", "libfuse2")
TOUCH_S = 3
MOUNT = {
    "name": "data",
    "kind": "generic",
    "source": "/srv/data",
    "path": "/mnt/data-1",
    "fstype": "fuse.bindfs",
    "options": ["ro", "nosuid", "nodev"],
    "timeout_s": TOUCH_S,
}


@pytest.fixture(scope="module")
def debs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("debs")
    if not shutil.which("apt-get"):
        pytest.skip("apt-get is not installed, which downloads bindfs")
    done = subprocess.run(["apt-get", "download", *PACKAGES], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        pytest.skip(f"apt-get cannot download bindfs: {done.stderr.strip()}")
    return sorted(folder.glob("*.deb"))


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StorageNode]:
    with StorageNode(tmp_path_factory.mktemp("storage")) as running:
        running.shell("mkdir -p /srv/data && echo here > /srv/data/file")
        yield running


def test_a_mount_is_created_repaired_survives_a_restart_and_is_removed(node: StorageNode, debs: list[Path], tmp_path: Path) -> None:
    versions = node.offer(debs)
    declared: dict[str, Any] = {
        "storage_client_mounts": [MOUNT],
        "storage_client_packages": [{"kind": "generic", "name": "bindfs", "version": versions["bindfs"]}],
        # A sysctl of the network namespace, because it is lost when the node stops, and /sys is read-only in the container.
        "storage_client_tunables": [{"kind": "sysctl", "name": "net.ipv4.tcp_syn_retries", "value": "5"}],
    }
    state = tmp_path / "state"

    virgin = node.apply("--check", **declared)
    assert virgin.ok, virgin.output
    assert "/mnt/data-1" not in node.shell("cat /proc/mounts")
    assert {"mount[data].present", "mount[data].running", "package[bindfs].version"} <= set(node.faults(state, **declared))

    first = node.apply(**declared)
    assert first.ok, first.output
    assert node.shell("cat /mnt/data-1/file") == "here\n"
    assert node.faults(state, **declared) == {}
    second = node.apply(**declared)
    assert (second.ok, second.changed) == (True, 0), second.output

    node.shell("kill -9 $(pidof bindfs)")
    assert node.faults(state, **declared) == {"mount[data].touch": "Transport endpoint is not connected"}
    seen = node.apply("--check", **declared)
    assert seen.ok, seen.output
    assert seen.changed
    assert node.apply(**declared).ok
    assert node.faults(state, **declared) == {}

    node.shell("kill -STOP $(pidof bindfs)")
    start = time.monotonic()
    assert node.faults(state, **declared) == {"mount[data].touch": f"timed out after {TOUCH_S} s"}
    assert time.monotonic() - start < TOUCH_S + 15
    node.shell("kill -CONT $(pidof bindfs)")
    assert node.faults(state, **declared) == {}

    node.shell("mount -o remount,rw,suid /mnt/data-1 2>/dev/null || { umount /mnt/data-1 && mount -t fuse.bindfs /srv/data /mnt/data-1; }")
    assert "mount[data].options" in node.faults(state, **declared)
    repaired = node.apply(**declared)
    assert repaired.ok, repaired.output
    assert node.faults(state, **declared) == {}

    node.restart()
    assert node.faults(state, **declared) == {}
    assert node.shell("cat /mnt/data-1/file") == "here\n"

    other = declared | {"storage_client_mounts": [], "storage_client_tunables": []}
    assert set(node.faults(state, **other)) == {"stale_units", "settings.persisted"}
    removed = node.apply(**other)
    assert removed.ok, removed.output
    assert node.faults(state, **other) == {}
    assert "/mnt/data-1" not in node.shell("cat /proc/mounts")
    assert node.shell("ls /etc/systemd/system | grep -c 'data-1\\|mnt-data' || true").strip() == "0"


def test_a_failed_mount_is_an_error_unless_it_is_optional(node: StorageNode) -> None:
    lost = MOUNT | {"name": "lost", "source": "/srv/nosuch", "path": "/mnt/lost", "fstype": "ext4"}
    refused = node.apply(storage_client_mounts=[lost])
    assert not refused.ok
    optional = node.apply(storage_client_mounts=[lost | {"required": False}])
    assert optional.ok, optional.output
