"""Where nodes stand: what `clusterctl status` shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from clusterctl.model.notice import MaintenanceNotice
    from clusterctl.model.rack_condition import RackStatus
    from clusterctl.model.records import Lease, NodeRecord, RunRow, Unanswered


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A run that has no recorded end and whose process is gone; `left` are the nodes it left unfinished, `admitted` those it admitted."""

    run: RunRow
    left: tuple[str, ...]
    admitted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Overview:
    """The nodes of a target with what is known of their runs.

    Attributes:
        held: node -> lease of the run that is changing it now.
        unanswered: node -> its newest validation, of the nodes of which that gave no findings.
        dead_runs: runs whose process is gone.
        racks: those of the nodes, each with all of its nodes.
        notices: of planned maintenance of the nodes, those that are not over, by beginning.
        busy: node -> what runs on it, as the pool reports; None: the pool was not queried, or does not report it.
        members: the nodes on which jobs may start, as the pool reports; None: as `busy`.
    """

    nodes: Sequence[NodeRecord]
    held: Mapping[str, Lease]
    unanswered: Mapping[str, Unanswered] = field(default_factory=dict)
    dead_runs: Sequence[Unfinished] = ()
    racks: Sequence[RackStatus] = ()
    busy: Mapping[str, str] | None = None
    members: Collection[str] | None = None
    notices: Sequence[MaintenanceNotice] = ()

    @property
    def unfinished(self) -> tuple[Unfinished, ...]:
        """The dead runs that concern the shown nodes: no later run has finished them."""
        if not self.dead_runs:
            return ()
        shown = {n.name for n in self.nodes}
        last = {n.last_run for n in self.nodes}
        return tuple(u for u in self.dead_runs if shown & set(u.left) or u.run.id in last)
