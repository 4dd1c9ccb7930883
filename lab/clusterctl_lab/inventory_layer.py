"""The inventory layer of a lab: addresses, SSH keys and BMCs. Written by `lab up`."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING, Any

import yaml

from clusterctl_lab.bmc.accounts import Account
from clusterctl_lab.layout import FIRST_HOST
from clusterctl_lab.node_hardware import hardware_of
from clusterctl_lab.ssh_keys import known_hosts_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from clusterctl_lab.layout import LabNode, LabPaths, LabRack

BMC_USER, BMC_READER = "clusterctl", "auditor"
# Rail k of rack r has the subnet 10.<this + k>.r.0/24, which exists only inside the nodes.
_FIRST_RAIL_NET = 100
_HEADER = "# Written by `clusterctl lab up`; `clusterctl lab down` removes it.\n"


def write_layer(paths: LabPaths, racks: Sequence[LabRack]) -> None:
    """Write `hosts/hosts.yml`, `known_hosts` and, once, random passwords of the accounts of BMCs (mode 0600) for all racks of this lab."""
    nodes = [node for rack in racks for node in rack.nodes]
    paths.known_hosts.write_text(known_hosts_text(paths, nodes), encoding="ascii")
    secret = paths.hosts_dir / "group_vars" / "clusterctl_lab" / "bmc.yml"
    secret.parent.mkdir(parents=True, exist_ok=True)
    if not secret.exists():
        accounts = {"bmc": BMC_USER, "bmc_readonly": BMC_READER}
        _write_secret(
            secret, {f"{k}_{n}": v for k, user in accounts.items() for n, v in (("user", user), ("password", secrets.token_urlsafe(18)))}
        )
    children = {rack.group: {"hosts": dict.fromkeys(n.name for n in rack.nodes)} for rack in racks}
    hosts = {n.name: {**_place(rack, n), **_domain(paths, rack, n), **_rails(paths, rack, n)} for rack in racks for n in rack.nodes}
    groups = {"clusterctl_lab": {"hosts": hosts, "vars": _shared(paths)}, **_profiles(paths, nodes), **children}
    text = _HEADER + yaml.safe_dump({"all": {"children": groups}}, sort_keys=False)
    (paths.hosts_dir / "hosts.yml").write_text(text, encoding="utf-8")


def bmc_accounts(paths: LabPaths) -> tuple[Account, ...]:
    """The accounts of the lab's BMCs; labs of earlier versions have no second one."""
    data = yaml.safe_load((paths.hosts_dir / "group_vars" / "clusterctl_lab" / "bmc.yml").read_text(encoding="utf-8"))
    named = [(data.get(f"{kind}_user"), data.get(f"{kind}_password"), kind == "bmc") for kind in ("bmc", "bmc_readonly")]
    return tuple(Account(str(user), str(password), may_change=may_change) for user, password, may_change in named if user)


def remove_layer(paths: LabPaths) -> None:
    """Remove all nodes from the layer. The folder stays, because clusterctl.yml names it."""
    for file in (paths.hosts_dir / "hosts.yml", paths.known_hosts):
        file.unlink(missing_ok=True)


def ssh_args(paths: LabPaths) -> str:
    """The ssh options that check host keys against the lab's known_hosts."""
    return f"-o UserKnownHostsFile={paths.known_hosts} -o StrictHostKeyChecking=yes -o GlobalKnownHostsFile=/dev/null"


def node_names(nodes: Iterable[LabNode]) -> str:
    """Comma-separated names for a message."""
    return ", ".join(n.name for n in nodes)


def _profiles(paths: LabPaths, nodes: Sequence[LabNode]) -> dict[str, dict[str, dict[str, None]]]:
    """The profile group of each kind of hardware, with its nodes."""
    names: dict[str, dict[str, None]] = {}
    for node in nodes:
        names.setdefault(hardware_of(paths, node.name).profile, {})[node.name] = None
    return {profile: {"hosts": hosts} for profile, hosts in names.items()}


def _place(rack: LabRack, node: LabNode) -> dict[str, Any]:
    """Address, BMC, rack and slot."""
    return {"ansible_host": node.address, "bmc_url": node.bmc_url, "rack": rack.group.replace("_", "-"), "rack_slot": node.slot}


def _rails(paths: LabPaths, rack: LabRack, node: LabNode) -> dict[str, Any]:
    """The addresses of the Ethernet rails, one per subnet; empty for InfiniBand."""
    hardware = hardware_of(paths, node.name)
    if not hardware.ethernet:
        return {}
    own = f"{rack.number}.{FIRST_HOST + node.slot}"
    rails = [{"device": name, "rail": i, "address": f"10.{_FIRST_RAIL_NET + i}.{own}/24"} for i, name in enumerate(hardware.hca_names)]
    return {"roce_rails": rails}


def _domain(paths: LabPaths, rack: LabRack, node: LabNode) -> dict[str, Any]:
    """The NVLink domain of a compute tray: all trays of the rack in slot order; empty for other hardware."""
    if not hardware_of(paths, node.name).rack_nvlink:
        return {}
    members = [other.address for other in sorted(rack.nodes, key=lambda n: n.slot)]
    # As in the profile: with up to two trays missing the others serve.
    trays = {"nvlink_domain_trays": len(members), "nvlink_domain_ready_min": max(min(2, len(members)), len(members) - 2)}
    return {"nvlink_domain": rack.group.replace("_", "-"), "nvlink_domain_members": members, **trays}


def _shared(paths: LabPaths) -> dict[str, Any]:
    return {
        "ansible_user": "root",
        "ansible_ssh_private_key_file": str(paths.key),
        "ansible_ssh_common_args": ssh_args(paths),
        "ansible_python_interpreter": "/usr/bin/python3",
        "bmc_ca_file": str(paths.bmc_certificate),
    }


def _write_secret(path: Path, data: dict[str, str]) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write("# Credentials of the lab's BMCs, which listen on loopback addresses of this machine.\n" + yaml.safe_dump(data))
