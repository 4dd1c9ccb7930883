"""`lab up`, `lab down`, `lab status`: a rack of containers, its inventory layer, its BMCs."""

from __future__ import annotations

import fcntl
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.lab import containers, hosts_layer, keys
from clusterctl.lab.image import ensure_image
from clusterctl.lab.layout import LabPaths, LabRack, lab_node
from clusterctl.lab.podman import podman
from clusterctl.lab.requirements import check_host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Boot is short work for the processor: more at once only queue.
_PARALLEL = 2


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """One node of the lab, for `lab status`."""

    name: str
    rack: str
    address: str
    bmc_url: str
    running: bool
    image: str


def up(paths: LabPaths, rack: LabRack, tell: Callable[[str], None]) -> list[str]:
    """Bring every node of the rack up; those that run are left alone. Returns the names of the started nodes.

    Raises:
        LabError: the host lacks something, a name or address is taken, or a node does not come up.
    """
    check_host()
    with _locked(paths):
        image = ensure_image(tell)
        existing = containers.containers(paths)
        keys.ensure_keys(paths, rack.nodes)
        containers.ensure_network(rack)
        gone = [n for n in rack.nodes if not existing.get(n.name) or not existing[n.name].running]
        stopped = [n.name for n in gone if n.name in existing]

        def start(node_name: str) -> str:
            node = lab_node(node_name)
            if node_name in stopped:
                podman("start", node_name)
            else:
                containers.start(paths, rack, node, image)
            containers.wait_for_ssh(node)
            return node_name

        with ThreadPoolExecutor(_PARALLEL) as pool:
            for name in pool.map(start, [n.name for n in gone]):
                tell(f"{name} is up")
        _write_layer(paths)
    return [n.name for n in gone]


def down(paths: LabPaths, rack: LabRack) -> list[str]:
    """Remove the rack's containers, network and files. Returns the names of the removed nodes."""
    with _locked(paths):
        names = list(containers.containers(paths, rack))
        containers.remove(names, rack)
        for name in names:
            shutil.rmtree(paths.node_dir(name), ignore_errors=True)
        _write_layer(paths)
    return names


def status(paths: LabPaths) -> tuple[NodeStatus, ...]:
    """All nodes of this lab."""
    found = containers.containers(paths).values()
    places = [(c, lab_node(c.name)) for c in found]
    return tuple(NodeStatus(c.name, c.rack, n.address, n.bmc_url, c.running, c.image) for c, n in places)


def _write_layer(paths: LabPaths) -> None:
    racks: dict[str, list[str]] = {}
    for container in containers.containers(paths).values():
        racks.setdefault(container.rack, []).append(container.name)
    if not racks:
        hosts_layer.remove_layer(paths)
        return
    numbered = [LabRack(int(group.removeprefix("rack_")), tuple(lab_node(n) for n in names)) for group, names in racks.items()]
    hosts_layer.write_layer(paths, numbered)


@contextmanager
def _locked(paths: LabPaths) -> Iterator[None]:
    """One `lab` command at a time changes a lab."""
    paths.root.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (paths.root / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
