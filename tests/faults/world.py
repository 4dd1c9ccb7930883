"""A rack of the drill: its nodes as declared by a real profile, its noise, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.inventory.load import load_profile
from clusterctl.model.node import Connection, Node, NodeSpec, Place
from clusterctl_lab.simulator import machine
from faults.noise import Noise
from faults.rack_kinds import HGX_H100, RackKind
from support.roles import ROOT
from support.shared_storage import MOUNT
from support.training import STEPS

if TYPE_CHECKING:
    from faults.rows import Change

_DOMAIN = "nvlink_domain"
EVERY_NODE = "*"


@dataclass(frozen=True)
class Rack:
    """Nodes of one kind.

    Attributes:
        seed: of the noise, which differs from rack to rack; `changes`: the fault, none in a healthy rack.
        measured: which of the measurements of these parts, whose noise differs, too; the empty text is the first of tonight.
        added_gates: those that its site has at every level, and that decide there; the profile has them at level full, observed.
    """

    seed: str
    changes: tuple[Change, ...] = ()
    noise: Noise = field(default_factory=Noise)
    added_gates: tuple[str, ...] = ()
    kind: RackKind = HGX_H100
    measured: str = ""

    def random(self, *names: object) -> Random:
        """The noise of one measurement."""
        return self._drawn(*names, *filter(None, (self.measured,)))

    def _drawn(self, *names: object) -> Random:
        return Random(" ".join(map(str, (self.seed, *names))))  # noqa: S311 a simulation

    def spread(self, share: float, *names: object) -> float:
        """A factor around 1."""
        return self.random(*names).gauss(1.0, share)

    def bin_of(self, node: str, gpu: int) -> float:
        """The clock of a GPU at its power cap, as a share of the usual one: a property of the part."""
        half = self.noise.binning / 2
        return self._drawn("bin", node, gpu).uniform(1 - half, 1 + half)

    def of(self, kind: str, node: str = "") -> tuple[Change, ...]:
        """The changes of a kind, of a node where one is named; those of every node are among them."""
        return tuple(c for c in self.changes if c.kind == kind and (not node or c.node in (node, EVERY_NODE)))


def rack_of(kind: RackKind, seed: str, changes: tuple[Change, ...] = (), added_gates: tuple[str, ...] = ()) -> Rack:
    """A rack with the noise of its kind."""
    return Rack(seed, changes, kind.noise, added_gates, kind)


@cache
def spec(kind: RackKind) -> NodeSpec:
    """The profile, as it is declared for every site; where trays form an NVLink domain, with the addresses that only a site knows."""
    declared = load_profile([ROOT / "inventory" / "common"], kind.profile, content=ROOT)
    if _DOMAIN not in declared.roles:
        return declared
    members = {"nvlink_domain_members": [kind.address_of(node) for node in kind.nodes]}
    return replace(declared, roles={**declared.roles, _DOMAIN: {**declared.roles[_DOMAIN], **members}})


@cache
def nodes(kind: RackKind, added_gates: tuple[str, ...] = ()) -> tuple[Node, ...]:
    """The nodes of a rack, with gates that their site adds to every level and observes no longer, and the file system that these nodes share."""
    declared = spec(kind)
    levels = {level: list(dict.fromkeys([*names, *added_gates])) for level, names in declared.gates["gates_levels"].items()}
    observe = tuple(one for one in declared.observe if one.get("gate") not in added_gates)
    gates: dict[str, Any] = {**declared.gates, "gates_levels": levels}
    roles = dict(declared.roles)
    if added_gates:
        gates["gates_settings"] = {**gates["gates_settings"], "training_proxy": {"steps": STEPS}}
        roles["storage_client"] = {**roles.get("storage_client", {}), "storage_client_mounts": [MOUNT]}
    own = replace(declared, roles=roles, gates=gates, observe=observe)
    return tuple(
        Node(name, (kind.profile,), Connection(kind.address_of(name)), Place(leaf=kind.leaf_of(name), su="su1", rack="rack-1"), own)
        for name in kind.nodes
    )


def gpu_address(gpu: int) -> str:
    """As the kernel and its log write it."""
    return machine.THIS.gpu_addresses[gpu]


def hca_address(hca: str) -> str:
    """As the kernel writes it."""
    return machine.THIS.hca_addresses[machine.hca_index(hca)]


def device_at(address: str) -> str:
    """`gpu3` or `mlx5_2` for a PCI address as the kernel, its log or nvidia-smi writes it; empty for any other."""
    address = address.lower().removeprefix("0000") if address.startswith("0000000") else address.lower()
    for index, gpu in enumerate(machine.THIS.gpu_addresses):
        if gpu.startswith(address):
            return f"gpu{index}"
    return next((name for name in machine.THIS.hca_names if hca_address(name).startswith(address)), "")
