"""A node in burn-in: its profile and devices, as declared; nothing that was measured on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.core.gates.gates_profile import profile_of
from clusterctl.core.gates.planning.devices import Hca, gpu_vendor_of, gpus_of, hcas_of
from clusterctl.core.gpu_vendors import gpu_vendor_or_error
from clusterctl.core.observe import deciding_gates, parse_observations

if TYPE_CHECKING:
    from datetime import date

    from clusterctl.core.gates.gates_profile import GatesProfile
    from clusterctl.core.observe import Observation
    from clusterctl.model.level import Level
    from clusterctl.model.node import Node
    from clusterctl_validators.gpu import GpuVendor


@dataclass(frozen=True, slots=True)
class Subject:
    """A node that is measured.

    Attributes:
        partner: a known-good node that is measured with and not judged.
        observations: which of its gates and rules do not decide.
    """

    node: Node
    profile: GatesProfile
    hcas: tuple[Hca, ...] = ()
    gpus: int = 0
    partner: bool = False
    observations: tuple[Observation, ...] = ()

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node.name

    @property
    def gpu_vendor(self) -> GpuVendor:
        """What the framework needs of the vendor of its GPUs.

        Raises:
            ConfigError: nothing, because no module is there for it.
        """
        return gpu_vendor_or_error(gpu_vendor_of(self.node), self.name)

    def deciding(self, level: Level) -> tuple[str, ...]:
        """The gates of a level that admission expects."""
        return deciding_gates(self.profile.levels[level], self.observations)

    @property
    def address(self) -> str:
        """The address by which other nodes measure this one."""
        return self.profile.peer_address or self.node.connection.host


def subject_of(node: Node, today: date, *, partner: bool = False) -> Subject:
    """The subject of a node.

    Raises:
        ConfigError: its gates profile, its HCAs or what is observed on it are invalid.
    """
    observed = parse_observations(node.spec.observe, node.name)
    return Subject(node, profile_of(node, today), hcas_of(node), gpus_of(node), partner, observed)
