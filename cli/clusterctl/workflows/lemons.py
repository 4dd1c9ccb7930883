"""Reads the record of serials from the store: for `history --worst`, and for what a node has to show before it serves again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.adapters import clock
from clusterctl.core import timestamps
from clusterctl.core.lemons.demands import due_records
from clusterctl.core.lemons.flaps import flapping_nodes
from clusterctl.core.lemons.lemon_limits import LONG_DAYS
from clusterctl.core.lemons.scores import trouble_records
from clusterctl.model.trouble import Trouble, TroubleKind, TroubleSources
from clusterctl.model.trouble_counts import TroubleCounts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from clusterctl.adapters.store.store import Store
    from clusterctl.model.records import NodeRecord
    from clusterctl.model.trouble import TroubleRecord

_DAY_S = 86_400
# What excluded a node before the window may have been repaired in it.
_BEFORE_DAYS = LONG_DAYS


def worst_serials(
    store: Store, limits: TroubleCounts, nodes: Iterable[str] | None = None, *, days: int = LONG_DAYS
) -> tuple[TroubleRecord, ...]:
    """The records of all serials, or of those with events on `nodes`, that have one within `days`; the worst first."""
    now = clock.now()
    sources = store.trouble_sources(_oldest(now), nodes)
    since = timestamps.after(now, -days * _DAY_S)
    return tuple(r for r in trouble_records(sources, limits, now) if r.last_at >= since)


def due_of(store: Store, limits: TroubleCounts, nodes: Collection[str]) -> dict[str, TroubleRecord]:
    """Node -> the record for which it owes a burn-in of level full before it is admitted; nodes that owe none are left out."""
    now = clock.now()
    sources = store.trouble_sources(_oldest(now), nodes)
    return due_records(trouble_records(sources, limits, now), sources.parts, nodes)


def flapping_of(store: Store, limits: TroubleCounts, nodes: Collection[NodeRecord]) -> frozenset[str]:
    """The nodes with a link that flapped for days since they entered their state."""
    now, since = clock.now(), {n.name: n.since for n in nodes}
    sources = store.trouble_sources(timestamps.after(now, -LONG_DAYS * _DAY_S), since)
    own = replace(sources, flaps=[f for f in sources.flaps if f.node in since], results=[r for r in sources.results if r.node in since])
    return flapping_nodes(own, since, limits.link_flap_days, now)


def booting_too_often(store: Store, limits: TroubleCounts, nodes: Collection[str]) -> dict[str, TroubleRecord]:
    """Those of `nodes`, which have just booted by themselves, whose machine has now done so too often -> its record of such boots."""
    now = clock.now()
    sources = store.trouble_sources(_oldest(now), nodes)
    boots = (*sources.boots, *(Trouble(n, TroubleKind.UNPLANNED_BOOT, now) for n in nodes))
    only = TroubleCounts(unplanned_boots=limits.unplanned_boots)
    return due_records(trouble_records(TroubleSources(boots=boots, parts=sources.parts), only, now), sources.parts, nodes)


def _oldest(now: str) -> str:
    return timestamps.after(now, -(LONG_DAYS + _BEFORE_DAYS) * _DAY_S)
