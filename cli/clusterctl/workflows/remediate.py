"""Heals drift with `provision`, one node first. Only `clusterctl drift --heal` imports this."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.adapters.store import Store
from clusterctl.model.errors import BreakerError, LeaseHeldError, OutsideWindowError
from clusterctl.model.exit_codes import ExitCode, worst
from clusterctl.model.provision import ProvisionOptions, ProvisionResult
from clusterctl.model.state import State
from clusterctl.workflows.drift.check_drift import Healed, update_after_healing
from clusterctl.workflows.provision.request import ProvisionRequest
from clusterctl.workflows.provision.start import run_provision

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.adapters.config import Config
    from clusterctl.model.drift import DriftReport
    from clusterctl.model.records import NodeRecord
    from clusterctl.workflows.drift.check_drift import DriftOptions, DriftRun
    from clusterctl.workflows.provision.request import ProgressListener

# enough to distinguish a bad node from a bad partner
_PARTNERS = 2


Provision = Callable[[Sequence[str], Sequence[str]], ProvisionResult]


def heal(names: Sequence[str], partners: Sequence[str], provision: Provision) -> Healed:
    """Heal the first node; only where it is admitted again, the others."""
    if not names:
        return Healed((), ExitCode.OK)
    canary, rest = names[:1], names[1:]
    first = _one_round(canary, partners, provision)
    if first.code is not ExitCode.OK:
        why = f"the canary {canary[0]} was not admitted again"
        return replace(first, actions=(*first.actions, *({"node": n, "action": "left", "detail": why} for n in rest)))
    if rest:
        second = _one_round(rest, partners or canary, provision)
        return Healed((*first.actions, *second.actions), second.code)
    return first


def partners_of(report: DriftReport, records: Mapping[str, NodeRecord]) -> tuple[str, ...]:
    """Admitted nodes without deviations, to measure with."""
    bad = {d.node for d in report.deviations} | {x.node for x in report.lost}
    return tuple(n for n in report.nodes if n not in bad and records[n].state is State.ADMITTED)[:_PARTNERS]


def provisioner(config: Config, vault_ids: tuple[str, ...], audience: ProgressListener) -> Provision:
    """`provision` of named nodes with the site's burn-in: a healed node is tested like a new one."""

    def provision(names: Sequence[str], partners: Sequence[str]) -> ProvisionResult:
        request = ProvisionRequest(",".join(names), ProvisionOptions(partners=tuple(partners)), vault_ids=vault_ids)
        try:
            return run_provision(config, request, audience)
        except BreakerError as e:
            with Store.open(config.store_url) as store:
                store.trip_breaker(operator=config.operator, reason=f"drift --heal: {e}")
            raise

    return provision


def heal_drift(found: DriftRun, config: Config, options: DriftOptions, provision: Provision) -> DriftRun:
    """Heal what a drift run decided to; the run and its files then show the state after healing, and what was healed."""
    with Store.open(config.store_url) as store:
        records = {r.name: r for r in store.nodes(found.report.nodes)}
    healed = heal(found.decisions.heal, partners_of(found.report, records), provision)
    return update_after_healing(found, config, options, healed)


def _one_round(names: Sequence[str], partners: Sequence[str], provision: Provision) -> Healed:
    try:
        result = provision(names, partners)
    except (BreakerError, LeaseHeldError, OutsideWindowError) as e:  # refused before any node was touched
        return Healed(tuple({"node": n, "action": "left", "detail": str(e)} for n in names), e.exit_code)
    admitted = {n.node for n in result.nodes if n.state is State.ADMITTED and n.exit_code is ExitCode.OK}
    actions = tuple(
        {
            "node": n.node,
            "action": "healed" if n.node in admitted else "not healed",
            "detail": n.reason or f"{n.state.value} in run {result.run_id}",
        }
        for n in result.nodes
    )
    missing = [ExitCode.UNEXPECTED] if set(names) - {n.node for n in result.nodes} else []
    return Healed(actions, worst([*missing, result.exit_code]))
