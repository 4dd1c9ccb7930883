"""Results of a group of nodes, and of none of them: they change no verdict on a node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterctl.model.installed_skew import InstalledSkew
    from clusterctl.model.slow_class import SlowClass
    from clusterctl.model.version_skew import VersionSkew


@dataclass(frozen=True, slots=True)
class GroupFindings:
    """What a burn-in shows of groups.

    Attributes:
        slow_classes: classes that are slow as a whole; version_skews: scalable units with several versions of a tool.
        installed_skews: scalable units with several versions of a driver, firmware or kernel.
    """

    slow_classes: tuple[SlowClass, ...] = ()
    version_skews: tuple[VersionSkew, ...] = ()
    installed_skews: tuple[InstalledSkew, ...] = ()
