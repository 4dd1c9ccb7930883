"""`lab up`, `lab down`, `lab status`: the containers, the inventory layer and the BMCs of a rack."""

from __future__ import annotations

import fcntl
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.model.errors import PathError
from clusterctl_lab import containers, fault_injection, faults, fresh_installer, inventory_layer, node_hardware, ssh_keys
from clusterctl_lab.bmc import server_process
from clusterctl_lab.host_requirements import check_host
from clusterctl_lab.image import ensure_image
from clusterctl_lab.layout import LabNode, LabPaths, LabRack, lab_node
from clusterctl_lab.podman import podman

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clusterctl_lab.simulator.state import Fault

# Booting is bound by the CPU: more nodes at once are not faster.
_PARALLEL = 2


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """One node of the lab, for `lab status`. `bmc`: its BMC is being served; `hardware`: what it simulates."""

    name: str
    rack: str
    address: str
    bmc_url: str
    running: bool
    bmc: bool
    image: str
    faults: tuple[Fault, ...]
    hardware: str


def up(
    paths: LabPaths,
    rack: LabRack,
    report: Callable[[str], None],
    *,
    healthy: bool = False,
    hardware: str = node_hardware.DEFAULT,
    real_time: float = 0,
    fresh: bool = False,
) -> list[str]:
    """Start the nodes of the rack that are not running. Returns their names.

    Args:
        paths: files of the lab.
        rack: the rack with its nodes.
        report: gets progress messages.
        healthy: do not degrade an HCA of a new fourth node.
        hardware: what new nodes simulate, one of `node_hardware.NAMES`.
        real_time: the tools of new nodes take as long as real ones, times this factor; 0: they answer at once.
        fresh: new nodes are as an installer leaves them (fresh_installer.yml).

    Raises:
        LabError: the host lacks a program, a name or address is in use, or a node does not come up.
        UsageProblemError: the rack exists with other hardware.
    """
    check_host()
    with _locked(paths):
        image = ensure_image(report)
        existing = containers.lab_containers(paths)
        containers.require_free(paths, rack)
        node_hardware.require_same_hardware(paths, rack, list(existing), hardware)
        for name in sorted(n.name for n in rack.nodes if n.name in existing and existing[n.name].image != image):
            report(f"{name} uses an older image: recreate it with `clusterctl lab down` and `clusterctl lab up`")
        if text := _without_effect(rack, [n for n in rack.nodes if n.name in existing], healthy=healthy, real_time=real_time, fresh=fresh):
            report(text)
        ssh_keys.ensure_keys(paths, rack.nodes)
        containers.ensure_network(rack)
        stopped = [n for n in rack.nodes if n.name not in existing or not existing[n.name].running]
        for node in stopped:
            if node.name not in existing:
                node_hardware.set_hardware(paths, node, hardware)
                node_hardware.set_real_time(paths, node, real_time)
                if fresh:
                    fresh_installer.set_fresh(paths, node)
            if node.name not in existing and node.slot == fault_injection.DEFAULT_NODE_SLOT and not healthy:
                fault = faults.make_fault(fault_injection.DEFAULT_FAULT)
                faults.save_faults(paths.node_dir(node.name) / fault_injection.FAULT_FILE, [fault])

        def start(node: LabNode) -> str:
            if node.name in existing:
                podman("start", node.name)
            else:
                containers.start_node(paths, rack, node, image)
            containers.wait_for_ssh(node)
            return node.name

        try:
            with ThreadPoolExecutor(_PARALLEL) as pool:
                for name in pool.map(start, stopped):
                    report(f"{name} is up")
        finally:
            _sync_inventory_and_bmcs(paths)
    return [n.name for n in stopped]


def _without_effect(rack: LabRack, kept: list[LabNode], *, healthy: bool, real_time: float, fresh: bool) -> str:
    """The given options that are for new nodes only, and the nodes that are not new; empty if there are none."""
    degraded = [n for n in kept if n.slot == fault_injection.DEFAULT_NODE_SLOT]
    given = {"--healthy": degraded if healthy else [], "--real-time": kept if real_time else [], "--fresh-installer": kept if fresh else []}
    options = [option for option, nodes in given.items() if nodes]
    names = sorted({n.name for nodes in given.values() for n in nodes})
    target = rack.group.replace("_", "-")
    return (
        f"{', '.join(names)} left as before: {', '.join(options)} is for new nodes; run `clusterctl lab down {target}` first"
        if options
        else ""
    )


def down(paths: LabPaths, rack: LabRack) -> list[str]:
    """Remove the rack's containers, network, BMCs and files. Returns the names of the removed nodes."""
    if not paths.root.is_dir():
        return []
    with _locked(paths):
        names = list(containers.lab_containers(paths, rack))
        containers.remove_containers(names, rack)
        for name in names:
            shutil.rmtree(paths.node_dir(name), ignore_errors=True)
        _sync_inventory_and_bmcs(paths)
    return names


def status(paths: LabPaths, rack: LabRack | None = None) -> tuple[NodeStatus, ...]:
    """The nodes of this lab, or of one of its racks."""
    served = server_process.running_server(paths)[1]
    result = []
    for c in containers.lab_containers(paths, rack).values():
        node = lab_node(c.name)
        boot_id = containers.boot_id(c.name) if c.running else ""
        broken = fault_injection.active_faults(paths, c.name, boot_id)
        kind = node_hardware.hardware_of(paths, c.name).name
        result.append(NodeStatus(c.name, c.rack, node.address, node.bmc_url, c.running, c.name in served, c.image, broken, kind))
    return tuple(result)


def _sync_inventory_and_bmcs(paths: LabPaths) -> None:
    """Update the inventory layer and the BMC process to match the existing containers."""
    racks: dict[str, list[LabNode]] = {}
    for container in containers.lab_containers(paths).values():
        racks.setdefault(container.rack, []).append(lab_node(container.name))
    if racks:
        numbered = [LabRack(int(group.removeprefix("rack_")), tuple(nodes)) for group, nodes in racks.items()]
        inventory_layer.write_layer(paths, numbered)
    else:
        inventory_layer.remove_layer(paths)
    server_process.ensure_serving(paths, [node for nodes in racks.values() for node in nodes])


@contextmanager
def _locked(paths: LabPaths) -> Iterator[None]:
    """Let only one `lab` command at a time change a lab."""
    try:
        paths.root.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as e:
        raise PathError(path=paths.root, detail=e.strerror, hint="choose another folder with --state-dir") from e
    with (paths.root / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
