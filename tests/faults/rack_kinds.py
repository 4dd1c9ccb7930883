"""The kinds of rack of the drill: which nodes of which profile, and which hardware of the lab prints for them."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator import hardware_kinds
from faults.noise import Noise
from support.lab_machine import simulate_hardware

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterctl_lab.simulator.hardware import Hardware


@dataclass(frozen=True, eq=False)
class RackKind:
    """A kind of rack.

    Attributes:
        profile: as it is declared for every site.
        hardware: one node, as the printers of the lab have it.
        nodes: names, in their order; no two kinds have a name in common.
        per_leaf: how many of them are on one leaf.
        healthy_racks: how many the drill measures.
    """

    profile: str
    hardware: Hardware
    nodes: tuple[str, ...]
    per_leaf: int
    healthy_racks: int
    noise: Noise = field(default_factory=Noise)

    @contextmanager
    def printing(self) -> Iterator[None]:
        """The printers of the lab print what nodes of this kind do."""
        with pytest.MonkeyPatch.context() as patch:
            simulate_hardware(self.hardware, patch)
            yield

    def leaf_of(self, node: str) -> str:
        """The leaf of a node."""
        return f"leaf{self.nodes.index(node) // self.per_leaf + 1}"

    def address_of(self, node: str) -> str:
        """The address by which the other nodes reach it."""
        return f"10.0.0.{self.nodes.index(node) + 1}"


# Assumed: each rail of a rack of trays is on one leaf. Good GPUs of GB200 differ by 8.8 % (a note of GKE).
RACK_KINDS = {
    "hgx_h100": RackKind(
        "profile_hgx_h100_ib", hardware_kinds.HGX_H100, tuple(f"n{i}" for i in range(1, 13)), per_leaf=6, healthy_racks=20
    ),
    "gb200_nvl72": RackKind(
        "profile_gb200_nvl72",
        hardware_kinds.GB200_NVL72,
        tuple(f"t{i}" for i in range(1, 19)),
        per_leaf=18,
        healthy_racks=5,
        noise=Noise(binning=0.088),
    ),
}
HGX_H100, GB200_NVL72 = RACK_KINDS["hgx_h100"], RACK_KINDS["gb200_nvl72"]
