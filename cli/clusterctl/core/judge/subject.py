"""What the judge knows of a node: its profile and devices, never anything measured on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.core.gates.devices import Hca, gpus_of, hcas_of
from clusterctl.core.gates.gates_profile import profile_of

if TYPE_CHECKING:
    from datetime import date

    from clusterctl.core.gates.gates_profile import GatesProfile
    from clusterctl.model.node import Node


@dataclass(frozen=True, slots=True)
class Subject:
    """A node under judgement.

    Attributes:
        partner: a known-good node that is measured with and not judged.
    """

    name: str
    profile: GatesProfile
    hcas: tuple[Hca, ...] = ()
    gpus: int = 0
    partner: bool = False


def subject_of(node: Node, today: date, *, partner: bool = False) -> Subject:
    """The subject of a node.

    Raises:
        ConfigError: its gates profile or its HCAs are invalid.
    """
    return Subject(node.name, profile_of(node, today), hcas_of(node), gpus_of(node), partner)
