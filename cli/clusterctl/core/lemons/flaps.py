"""Links that flap for days: one that was lost on several days dies sooner or later, in the middle of a job. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core import timestamps
from clusterctl.core.lemons.events import troubles
from clusterctl.core.lemons.lemon_limits import SHORT_DAYS
from clusterctl.model.trouble import TroubleKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.model.trouble import TroubleSources

_DAY_S = 86_400


def flapping_nodes(sources: TroubleSources, since: Mapping[str, str], most: int, now: str) -> frozenset[str]:
    """The nodes of which one link flapped on `most` days or more of the last 30; `since`: node -> what was before was known when it was admitted.

    0 = no limit.
    """
    oldest = timestamps.after(now, -SHORT_DAYS * _DAY_S)
    days: dict[tuple[str, str], set[str]] = {}
    for event in troubles(sources):
        if event.kind is TroubleKind.LINK_FLAP and event.device and event.at >= max(oldest, since[event.node]):
            days.setdefault((event.node, event.device), set()).add(event.at[:10])
    return frozenset(node for (node, _), own in days.items() if most and len(own) >= most)
