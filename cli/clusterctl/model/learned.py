"""What the nodes of a class measured for a limit of their profile, or for one that it could have, and what it could be."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.model.gate_result import Baseline


class NotLearned(StrEnum):
    """Why no floor is proposed."""

    NO_VALUES = "no_values"
    FEW_NODES = "few_nodes"
    TWO_CLUSTERS = "two_clusters"
    # Six spreads below the median nothing is left.
    WIDE_SPREAD = "wide_spread"
    FLOOR_AS_HIGH = "floor_as_high"
    # Another class of the same profile supports a lower one only, and a floor holds for all.
    LOWER_CLASS = "lower_class"


@dataclass(frozen=True, slots=True, order=True)
class DeviceClass:
    """What makes values of one figure comparable.

    Attributes:
        gpu_model: as nvidia-smi prints it; empty where unknown.
        rates_gbps: of the HCAs, for a gate that measures these; else empty.
        tool_version: of the tool that measured; empty where unknown.
    """

    gpu_model: str = ""
    rates_gbps: tuple[float, ...] = ()
    tool_version: str = ""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Some nodes of a class that belong together.

    Attributes:
        nodes: by name.
        centre: the mean of their values.
    """

    nodes: tuple[str, ...]
    centre: float


@dataclass(frozen=True, slots=True)
class Learned:
    """What a class of nodes measured for one limit: a floor, or an upper limit where lower values are better.

    Attributes:
        floor: the strictest one in force for the figure; with the value 0 and no source where none is declared.
        nodes: node -> its worst value; median, spread (the median absolute deviation as a share of the median, 0.5 % at least): 0 without any value.
        proposal: the floor that the values support; expected: what the class reads, against which later runs compare their own median. None where there is none.
        refusal: why no floor is proposed; clusters: the lower and the upper one, where the class is two.
    """

    floor: Baseline
    device_class: DeviceClass
    nodes: Mapping[str, float]
    median: float = 0.0
    spread: float = 0.0
    proposal: Baseline | None = None
    expected: Baseline | None = None
    refusal: NotLearned | None = None
    clusters: tuple[Cluster, ...] = ()
