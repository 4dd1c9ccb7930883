"""What an operator requests of `provision`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clusterctl.model.provision import ProvisionOptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from clusterctl.core.saved_plan import SavedPlan
    from clusterctl.model.plan import Plan
    from clusterctl.model.provision import Progress
    from clusterctl.model.shard import Fence


@dataclass(frozen=True, slots=True)
class ProvisionRequest:
    """One command line.

    Attributes:
        target: a host pattern; may be empty with `resume`.
        resume: id of an earlier run to continue; its nodes, inventory and options are used.
        saved_plan: a plan that the nodes must still match.
        inventory: inventory layers; empty = those of the site.
        healing: `drift --heal` made it: the next one goes on with what it leaves.
        fence: the right to write, of a worker of the queue; None = nobody else may work on these nodes.
    """

    target: str
    options: ProvisionOptions = field(default_factory=ProvisionOptions)
    limit: str | None = None
    vault_ids: tuple[str, ...] = ()
    resume: str = ""
    saved_plan: SavedPlan | None = None
    inventory: tuple[Path, ...] = ()
    healing: bool = False
    fence: Fence | None = None


@dataclass(frozen=True, slots=True)
class ProgressListener:
    """Receives progress and Ansible's own output (with -v), and confirms the plan."""

    notify: Callable[[Progress], None]
    output: Callable[[str], None]
    confirm: Callable[[Plan], bool]
