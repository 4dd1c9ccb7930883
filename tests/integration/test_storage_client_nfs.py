"""The role storage_client with a real NFS mount from nfs-ganesha, on one node that is both. Skipped where the kernel has no NFS client."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.storage_node import StorageNode

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.containers, pytest.mark.slow, pytest.mark.skipif(not shutil.which("podman"), reason="no podman here")]

WANTED = ("nfs-common", "nfs-ganesha", "nfs-ganesha-vfs")
EXPORT = """
EXPORT { Export_Id = 1; Path = /srv/data; Pseudo = /data; Access_Type = RW; Squash = No_Root_Squash; Protocols = 4; SecType = sys; FSAL { Name = VFS; } }
"""


def kernel_has_nfs() -> bool:
    if shutil.which("modprobe"):
        subprocess.run(["modprobe", "nfsv4"], capture_output=True, check=False)
    return any(line.split()[-1] == "nfs4" for line in Path("/proc/filesystems").read_text().splitlines())


def download(folder: Path) -> list[Path]:
    """The packages with all that they need."""
    words = [
        "apt-cache",
        "depends",
        "--recurse",
        "--no-recommends",
        "--no-suggests",
        "--no-conflicts",
        "--no-breaks",
        "--no-replaces",
        "--no-enhances",
    ]
    said = subprocess.run([*words, *WANTED], capture_output=True, text=True, check=True).stdout
    names = sorted({line for line in said.splitlines() if line and not line.startswith((" ", "<"))})
    got = subprocess.run(["apt-get", "download", *names], cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    if got.returncode:
        pytest.skip(f"apt-get cannot download nfs-ganesha: {got.stderr.strip()}")
    return sorted(folder.glob("*.deb"))


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StorageNode]:
    if not kernel_has_nfs():
        pytest.skip("this kernel has no NFS client (/proc/filesystems), so no real NFS mount can be made")
    if not shutil.which("apt-get"):
        pytest.skip("no apt here to download nfs-ganesha with")
    with StorageNode(tmp_path_factory.mktemp("nfs")) as running:
        running.shell("mkdir -p /srv/data && echo here > /srv/data/file")
        yield running


def test_a_real_mount_its_loss_and_its_end(node: StorageNode, tmp_path: Path) -> None:
    debs = tmp_path / "debs"
    debs.mkdir()
    versions = node.offer(download(debs))
    node.shell("apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends nfs-ganesha-vfs")
    (tmp_path / "ganesha.conf").write_text(EXPORT)
    node.copy(tmp_path / "ganesha.conf", "/etc/ganesha/ganesha.conf")
    node.shell("systemctl restart nfs-ganesha")
    mount = {
        "name": "data",
        "kind": "nfs",
        "source": "127.0.0.1:/data",
        "path": "/mnt/data",
        "options": ["vers=4.2", "hard", "noatime"],
        "nconnect": 2,
        "timeout_s": 5,
        "after": ["nfs-ganesha.service"],
    }
    declared: dict[str, Any] = {
        "storage_client_mounts": [mount],
        "storage_client_packages": [{"kind": "nfs", "name": "nfs-common", "version": versions["nfs-common"]}],
    }
    first = node.apply(**declared)
    assert first.ok, first.output
    assert node.shell("cat /mnt/data/file") == "here\n"
    assert node.faults(tmp_path / "state", **declared) == {}
    assert node.apply(**declared).changed == 0

    node.shell("systemctl kill -s STOP nfs-ganesha")
    assert node.faults(tmp_path / "state", **declared) == {"mount[data].touch": "timed out after 5 s"}
    node.shell("systemctl kill -s CONT nfs-ganesha")
    assert node.faults(tmp_path / "state", **declared) == {}

    assert node.apply(**(declared | {"storage_client_mounts": []})).ok
    assert "/mnt/data" not in node.shell("cat /proc/mounts")
