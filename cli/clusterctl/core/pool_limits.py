"""What a site allows to be taken out of its pool, and when."""

from __future__ import annotations

from dataclasses import dataclass

from clusterctl.core.breaker import Breaker
from clusterctl.core.maintenance_windows import MaintenanceWindows


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """The circuit breaker, and the windows of planned work."""

    breaker: Breaker = Breaker()  # noqa: RUF009 frozen
    windows: MaintenanceWindows = MaintenanceWindows()  # noqa: RUF009 frozen

    def unplanned(self) -> PoolLimits:
        """Those of a faulty node, which goes at any time."""
        return PoolLimits(self.breaker)
