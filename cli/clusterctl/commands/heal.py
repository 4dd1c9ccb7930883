"""Healing for `clusterctl drift --heal`; the only module through which drift reaches a role."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.site_content import role_dirs
from clusterctl.terminal import live
from clusterctl.workflows.provision.request import ProgressListener
from clusterctl.workflows.remediate import heal_drift, plan_healing, provisioner

if TYPE_CHECKING:
    from clusterctl.adapters.config import Config
    from clusterctl.workflows.drift.check_drift import DriftOptions, DriftRun


def heal_with_progress(found: DriftRun, config: Config, options: DriftOptions, vault_ids: tuple[str, ...]) -> DriftRun:
    """Heal what the drift run decided to, and what an earlier one left, with the live view of `clusterctl provision`."""
    planned = plan_healing(found, config)
    if not planned.names and not planned.left:
        return found
    with live.view(live.task_counts(role_dirs())) as view:
        listener = ProgressListener(view, view.output, lambda _plan: True)
        return heal_drift(found, config, options, planned, provisioner(config, vault_ids, listener))
