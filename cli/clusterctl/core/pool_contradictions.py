"""Where the record and the pool contradict each other: somebody ended a drain of ours, or took out what we admitted. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.lifecycle import OWNABLE
from clusterctl.model.state import State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.model.overview import Overview
    from clusterctl.model.records import NodeRecord


def returned_by_others(found: Overview) -> Sequence[NodeRecord]:
    """The nodes that are out in the record, and on which jobs may start; none where the pool was not queried. A run that holds a node changes both."""
    members = frozenset(found.members or ())
    return [n for n in found.nodes if n.state in OWNABLE and n.name in members and n.name not in found.held]


def taken_out_by_others(found: Overview) -> Sequence[NodeRecord]:
    """The admitted nodes on which no job starts; none where the pool was not queried."""
    if found.members is None:
        return []
    members = frozenset(found.members)
    return [n for n in found.nodes if n.state is State.ADMITTED and n.name not in members and n.name not in found.held]
