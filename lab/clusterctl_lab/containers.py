"""The containers of a lab: start, list, remove. Only containers with this lab's label are touched."""

from __future__ import annotations

import hashlib
import json
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl.model.errors import LabError
from clusterctl_lab.podman import podman

if TYPE_CHECKING:
    from clusterctl_lab.layout import LabNode, LabPaths, LabRack

LABEL = "clusterctl_lab"
SEED = "/var/lib/clusterctl-lab"
BOOT_TIMEOUT_S = 60
# Not privileged, so that no host device is visible, and without the capabilities that affect the host.
_PRIVILEGES = (
    *("--cap-add=ALL", "--cap-drop=SYS_TIME,SYS_MODULE,SYS_RAWIO,SYSLOG,MAC_ADMIN,WAKE_ALARM"),
    *(
        "--security-opt=seccomp=unconfined",
        "--security-opt=apparmor=unconfined",
        "--security-opt=label=disable",
        "--security-opt=unmask=ALL",
    ),
)


@dataclass(frozen=True, slots=True)
class Container:
    """A container of this lab, as podman reports it."""

    name: str
    running: bool
    image: str
    rack: str


def lab_id(paths: LabPaths) -> str:
    """The label value that distinguishes this lab's containers from those of another state directory."""
    return hashlib.sha256(str(paths.root).encode()).hexdigest()[:12]


def lab_containers(paths: LabPaths, rack: LabRack | None = None) -> dict[str, Container]:
    """The containers of this lab, or of one of its racks, by name."""
    filters = ["--filter", f"label={LABEL}={lab_id(paths)}"]
    filters += ["--filter", f"label={LABEL}.rack={rack.group}"] if rack else []
    rows = json.loads(podman("ps", "--all", "--format", "json", *filters).stdout or "[]")
    found = [Container(r["Names"][0], r["State"] == "running", r["Image"], r["Labels"][f"{LABEL}.rack"]) for r in rows]
    return {c.name: c for c in sorted(found, key=lambda c: c.name)}


def require_free(paths: LabPaths, rack: LabRack) -> None:
    """Check that no other lab uses the node names of a rack.

    Raises:
        LabError: another lab uses them; the message names its state directory.
    """
    rows = json.loads(podman("ps", "--all", "--format", "json", "--filter", f"label={LABEL}.rack={rack.group}").stdout or "[]")
    names = {n.name for n in rack.nodes}
    taken = [r["Labels"] for r in rows if r["Names"][0] in names and r["Labels"].get(LABEL) != lab_id(paths)]
    if taken:
        target, state_dir = rack.group.replace("_", "-"), Path(taken[0].get(f"{LABEL}.root", "?")).parent
        raise LabError(
            detail=f"{target} is already up in the lab of {state_dir}",
            hint=f"remove it with `clusterctl --state-dir {state_dir} lab down {target}`, or choose another rack number",
        )


def ensure_network(rack: LabRack) -> None:
    """Create the rack's network if it does not exist.

    Raises:
        LabError: another network uses its addresses.
    """
    if podman("network", "exists", rack.network, check=False).returncode:
        podman("network", "create", "--disable-dns", "--subnet", rack.subnet, rack.network)


def start_node(paths: LabPaths, rack: LabRack, node: LabNode, image: str) -> None:
    """Create and start one node; podman restarts it when it reboots.

    Raises:
        LabError: the name or the address is in use, or podman failed.
    """
    hosts = [f"--add-host={other.name}:{other.address}" for other in rack.nodes]
    podman(
        *("run", "--detach", "--name", node.name, "--hostname", node.name, "--network", rack.network, "--ip", node.address),
        *("--restart=always", "--systemd=always", "--stop-signal=SIGRTMIN+3", "--stop-timeout=5", "--log-driver=none"),
        *(
            "--label",
            f"{LABEL}={lab_id(paths)}",
            "--label",
            f"{LABEL}.rack={rack.group}",
            "--label",
            f"{LABEL}.root={paths.root}",
            *hosts,
            *_PRIVILEGES,
        ),
        *("--volume", f"{paths.node_dir(node.name)}:{SEED}:ro", image),
        *("/usr/bin/python3", "-IS", "/opt/clusterctl-lab/image_files/run.py", "boot"),
    )


def wait_for_ssh(node: LabNode, timeout_s: float = BOOT_TIMEOUT_S) -> None:
    """Return when the node's sshd sends its banner.

    Raises:
        LabError: it sends none within `timeout_s`.
    """
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        try:
            with socket.create_connection((node.address, 22), timeout=2) as connection:
                if connection.recv(4) == b"SSH-":
                    return
        except OSError:
            time.sleep(0.1)
    raise LabError(
        detail=f"{node.name} ({node.address}) did not answer on SSH within {timeout_s:g} s",
        hint=f"see `podman exec {node.name} journalctl -b`",
    )


def remove_containers(names: list[str], rack: LabRack) -> None:
    """Remove containers, and the rack's network unless it is still in use."""
    if names:
        podman("rm", "--force", "--time", "0", *names)
    podman("network", "rm", rack.network, check=False)


def boot_id(name: str) -> str:
    """The boot id of a running node; empty if it is not running."""
    return podman("exec", name, "cat", "/proc/sys/kernel/random/boot_id", check=False).stdout.strip()
