"""Reads from the store how observed checks and gates did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters import clock
from clusterctl.core import timestamps
from clusterctl.core.flake_rates import observed_records
from clusterctl.core.lemons.events import troubles
from clusterctl.model.trouble import TroubleKind

if TYPE_CHECKING:
    from clusterctl.adapters.store.store import Store
    from clusterctl.model.observed import ObservedRecord

_DAY_S = 86_400


def observed_of(store: Store, days: int) -> tuple[ObservedRecord, ...]:
    """The observed checks and gates of the last `days` days, with their flake rates."""
    since = timestamps.after(clock.now(), -days * _DAY_S)
    repairs = [t for t in troubles(store.trouble_sources(since)) if t.kind is TroubleKind.REPAIR and not t.device]
    return observed_records(store.observed(since), repairs)
