"""Nodes of one scalable unit on which different versions of a driver, firmware or kernel run, or which have other memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterctl.model.version_skew import VersionNodes


@dataclass(frozen=True, slots=True, order=True)
class InstalledVersion:
    """A version that a validation found on a node; of memory, its modules.

    Attributes:
        component: as validators declare it: `GPU driver`, `HCA firmware` ...
        model: of the GPU or disk, board (PSID) of the HCA, or model of the machine: only equal parts are to have equal versions. Empty where it is not known, and
            for kernel and driver.
        version: of all such parts of the node; several, sorted and joined by a comma, where they differ.
    """

    component: str
    model: str
    version: str


@dataclass(frozen=True, slots=True)
class InstalledSkew:
    """A result of the group, and of none of its nodes.

    Attributes:
        unit: the scalable unit; empty where none is declared, and all nodes are one.
        model: as of `InstalledVersion`.
        versions: at least two, that of most nodes first.
        majority: whether more nodes have the first than have any other.
    """

    unit: str
    component: str
    model: str
    versions: tuple[VersionNodes, ...]
    majority: bool
