"""Names, addresses and files of a lab rack, all derived from the rack's number."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.model.errors import UsageProblemError

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT_NODES = 6
# inventory/lab/hosts.yml declares its nodes, so that commands that only read the inventory work before `lab up`.
DECLARED_RACK = 12
MAX_NODES = 64
BMC_PORT = 8443
# The address of slot k ends in this + k.
FIRST_HOST = 10
_RACK = re.compile(r"rack[-_](\d{1,3})")
_NODE = re.compile(r"r(\d{1,3})-n(\d{2})")


@dataclass(frozen=True, slots=True)
class LabPaths:
    """The files of a lab, below `<state_dir>/lab`."""

    root: Path

    @property
    def key(self) -> Path:
        """The private SSH key that all nodes accept."""
        return self.root / "id"

    @property
    def known_hosts(self) -> Path:
        """The host keys of the nodes."""
        return self.root / "known_hosts"

    @property
    def hosts_dir(self) -> Path:
        """The inventory layer of the lab."""
        return self.root / "hosts"

    @property
    def bmc_certificate(self) -> Path:
        """The self-signed certificate of the BMCs."""
        return self.root / "bmc-ca.pem"

    @property
    def bmc_key(self) -> Path:
        """The private key of that certificate."""
        return self.root / "bmc-key.pem"

    @property
    def bmc_pid(self) -> Path:
        """The file with the id of the process that serves the BMCs."""
        return self.root / "bmc.pid"

    @property
    def bmc_log(self) -> Path:
        """The log of that process."""
        return self.root / "bmc.log"

    def node_dir(self, node: str) -> Path:
        """The files of a node outside its own disk: host key, authorized keys, faults, BMC state."""
        return self.root / "nodes" / node


@dataclass(frozen=True, slots=True)
class LabNode:
    """A container that simulates a node. `slot` counts from 1; `bmc_address` is a loopback address of this machine."""

    name: str
    slot: int
    address: str
    bmc_address: str

    @property
    def bmc_url(self) -> str:
        """URL of its Redfish service."""
        return f"https://{self.bmc_address}:{BMC_PORT}"


@dataclass(frozen=True, slots=True)
class LabRack:
    """A rack of lab nodes with its own network."""

    number: int
    nodes: tuple[LabNode, ...]

    @property
    def group(self) -> str:
        """Its Ansible group."""
        return f"rack_{self.number}"

    @property
    def network(self) -> str:
        """Its podman network."""
        return f"clusterctl-lab-{self.number}"

    @property
    def subnet(self) -> str:
        """The subnet of that network."""
        return f"10.89.{self.number}.0/24"


def lab_rack(target: str, count: int = DEFAULT_NODES) -> LabRack:
    """The rack for a target such as `rack-12`, with `count` nodes.

    Raises:
        UsageProblemError: the target is not `rack-<1..254>`, or the count is not in 1..64.
    """
    match = _RACK.fullmatch(target)
    number = int(match[1]) if match else 0
    if not 1 <= number <= 254:  # noqa: PLR2004 the third byte of an address
        raise UsageProblemError(detail=f"{target!r} is not a lab rack", hint="use rack-1 to rack-254")
    if not 1 <= count <= MAX_NODES:
        raise UsageProblemError(
            detail=f"the number of nodes, {count}, is not in 1..{MAX_NODES}", hint="each node takes about 60 MiB of memory"
        )
    return LabRack(number, tuple(_node(number, slot) for slot in range(1, count + 1)))


def lab_node(name: str) -> LabNode:
    """The node with a name such as `r12-n04`.

    Raises:
        UsageProblemError: the name is not that of a lab node.
    """
    match = _NODE.fullmatch(name)
    if not match or not 1 <= int(match[1]) <= 254 or not 1 <= int(match[2]) <= MAX_NODES:  # noqa: PLR2004
        raise UsageProblemError(detail=f"{name!r} is not a lab node", hint="`clusterctl lab status` lists them")
    return _node(int(match[1]), int(match[2]))


def _node(number: int, slot: int) -> LabNode:
    return LabNode(f"r{number}-n{slot:02d}", slot, f"10.89.{number}.{FIRST_HOST + slot}", f"127.89.{number}.{FIRST_HOST + slot}")
