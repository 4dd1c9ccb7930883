"""The rack of the drill: its nodes as declared by a real profile, its noise, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from random import Random
from typing import TYPE_CHECKING

from clusterctl.adapters.inventory.load import load_profile
from clusterctl.model.node import Connection, Node, NodeSpec, Place
from clusterctl_lab.simulator import machine
from support.roles import ROOT

if TYPE_CHECKING:
    from faults.rows import Change

PROFILE = "profile_hgx_h100_ib"
NODES = tuple(f"n{i}" for i in range(1, 13))
_PER_LEAF = 6
GPUS = len(machine.THIS.gpu_addresses)


@dataclass(frozen=True)
class Noise:
    """What healthy hardware shows, as relative standard deviations.

    Attributes:
        binning: the clocks of GPUs at their power cap differ by so much from the slowest to the fastest.
        disks: of the read bandwidth of equal disks. Assumed: Oracle's check takes 2 % from the median (oci-hpc, active_healthcheck.py), no vendor says how far good disks differ.
        collisions: the share of the meetings of two adapters that read between 60 and 95 % of the line rate, with nothing wrong at either end.
    """

    perftest: float = 0.003
    nccl: float = 0.005
    gemm: float = 0.01
    copies: float = 0.003
    binning: float = 0.08
    collisions: float = 0.03
    disks: float = 0.01


@dataclass(frozen=True)
class Rack:
    """Twelve HGX H100 nodes on two leaves.

    Attributes:
        seed: of the noise, which differs from rack to rack; `changes`: the fault, none in a healthy rack.
        added_gates: those that its site has at every level, and that decide there; the profile has them at level full, observed.
    """

    seed: str
    changes: tuple[Change, ...] = ()
    noise: Noise = field(default_factory=Noise)
    added_gates: tuple[str, ...] = ()

    def random(self, *names: object) -> Random:
        """The noise of one measurement."""
        return Random(" ".join(map(str, (self.seed, *names))))  # noqa: S311 a simulation

    def spread(self, share: float, *names: object) -> float:
        """A factor around 1."""
        return self.random(*names).gauss(1.0, share)

    def bin_of(self, node: str, gpu: int) -> float:
        """The clock of a GPU at its power cap, as a share of the usual one: a property of the part."""
        half = self.noise.binning / 2
        return self.random("bin", node, gpu).uniform(1 - half, 1 + half)

    def of(self, kind: str, node: str = "") -> tuple[Change, ...]:
        """The changes of a kind, of a node where one is named."""
        return tuple(c for c in self.changes if c.kind == kind and (not node or c.node == node))


@cache
def spec() -> NodeSpec:
    """The profile, as it is declared for every site."""
    return load_profile([ROOT / "inventory" / "common"], PROFILE, content=ROOT)


@cache
def nodes(added_gates: tuple[str, ...] = ()) -> tuple[Node, ...]:
    """The nodes of every rack, with gates that their site adds to every level and observes no longer."""
    levels = {level: list(dict.fromkeys([*names, *added_gates])) for level, names in spec().gates["gates_levels"].items()}
    observe = tuple(one for one in spec().observe if one.get("gate") not in added_gates)
    own = replace(spec(), gates={**spec().gates, "gates_levels": levels}, observe=observe)
    return tuple(
        Node(name, (PROFILE,), Connection(f"10.0.0.{i + 1}"), Place(leaf=leaf_of(name), su="su1", rack="rack-1"), own)
        for i, name in enumerate(NODES)
    )


def leaf_of(node: str) -> str:
    """The leaf of a node."""
    return f"leaf{NODES.index(node) // _PER_LEAF + 1}"


def gpu_address(gpu: int) -> str:
    """As the kernel and its log write it."""
    return machine.THIS.gpu_addresses[gpu]


def hca_address(hca: str) -> str:
    """As the kernel writes it."""
    return machine.THIS.hca_addresses[machine.THIS.hca_names.index(hca)]


def device_at(address: str) -> str:
    """`gpu3` or `mlx5_2` for a PCI address as the kernel, its log or nvidia-smi writes it; empty for any other."""
    address = address.lower().removeprefix("0000") if address.startswith("0000000") else address.lower()
    for index, gpu in enumerate(machine.THIS.gpu_addresses):
        if gpu.startswith(address):
            return f"gpu{index}"
    return next((name for name in machine.THIS.hca_names if hca_address(name).startswith(address)), "")
