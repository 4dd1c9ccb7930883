"""SSH keys of the lab: one for the operator, and a host key for each node."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from clusterctl_lab.podman import run_command

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from clusterctl_lab.layout import LabNode, LabPaths

HOST_KEY = "ssh_host_ed25519_key"


def ensure_keys(paths: LabPaths, nodes: Iterable[LabNode]) -> None:
    """Create missing keys. Existing keys are kept, so that a second `up` changes no host key."""
    paths.root.mkdir(parents=True, exist_ok=True, mode=0o700)
    _ensure(paths.key, "clusterctl-lab")
    for node in nodes:
        directory = paths.node_dir(node.name)
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        _ensure(directory / HOST_KEY, node.name)
        shutil.copyfile(paths.key.with_suffix(".pub"), directory / "authorized_keys")


def known_hosts_text(paths: LabPaths, nodes: Iterable[LabNode]) -> str:
    """The text of a known_hosts file with the host keys of `nodes`."""
    lines = []
    for node in nodes:
        kind, key = (paths.node_dir(node.name) / f"{HOST_KEY}.pub").read_text(encoding="ascii").split()[:2]
        lines.append(f"{node.address} {kind} {key}\n")
    return "".join(lines)


def _ensure(path: Path, comment: str) -> None:
    if not path.exists():
        run_command(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)])
