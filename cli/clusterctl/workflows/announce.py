"""Announcing planned maintenance of a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.lifecycle import next_action
from clusterctl.core.recorded_target import match
from clusterctl.model.errors import NodesAbsentError
from clusterctl.model.notice import Period
from clusterctl.model.running_text import first_of
from clusterctl.model.state import State

if TYPE_CHECKING:
    from clusterctl.adapters.store.store import Store
    from clusterctl.model.notice import MaintenanceNotice


def announce_target(store: Store, target: str, begins_at: str, ends_at: str, *, operator: str, reason: str) -> MaintenanceNotice:
    """Record a notice of the nodes that the target selects now, without retired ones, which nobody uses.

    Raises:
        UnknownNodeError: no recorded node matches.
        NodesAbsentError: all of them are retired.
        NoticeError: it does not lie in the future, or another notice names one of the nodes for a part of it.
    """
    found = match(store.nodes(), target)
    names = [n.name for n in found if n.state is not State.RETIRED]
    if not names:
        retired = first_of([f"{n.name} (retired)" for n in found])
        raise NodesAbsentError(nodes=retired, hint=next_action(found[0].name, State.RETIRED))
    return store.announce(target, names, Period(begins_at, ends_at), operator=operator, reason=reason)
