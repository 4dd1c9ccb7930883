"""Heals drift with `provision`, one node first. Only `clusterctl drift --heal` imports this."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterctl.adapters import clock
from clusterctl.adapters.processes import is_held
from clusterctl.adapters.run_directory import RunDir
from clusterctl.adapters.store import Store
from clusterctl.core.lifecycle import IN_PROGRESS
from clusterctl.model.errors import BreakerError, LeaseHeldError, OutsideWindowError, RunDirectoryGoneError
from clusterctl.model.exit_codes import ExitCode, worst
from clusterctl.model.provision import ProvisionOptions, ProvisionResult
from clusterctl.model.state import State
from clusterctl.workflows.drift.check_drift import Healed, update_after_healing
from clusterctl.workflows.provision.request import ProvisionRequest
from clusterctl.workflows.provision.resume import was_healing
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
_LEFT = IN_PROGRESS | {State.DRAINED}

Provision = Callable[[Sequence[str], Sequence[str]], ProvisionResult]


def heal(names: Sequence[str], partners: Sequence[str], provision: Provision, stand_ins: Sequence[str] = ()) -> Healed:
    """Heal the first node; only where it is admitted again, the others. `stand_ins`: measured with it where there are no partners."""
    if not names:
        return Healed((), ExitCode.OK)
    canary, rest = names[:1], names[1:]
    first = _one_round(canary, partners or stand_ins, provision)
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


def stand_ins_of(report: DriftReport, healed: Sequence[str], canary: str) -> tuple[str, ...]:
    """Admitted nodes that are to be healed as well, to measure the canary with: first those that deviate in nothing but what it does."""
    checks = {name: {d.check for d in report.deviations if d.node == name} for name in (*healed, canary)}
    others = sorted((n for n in healed if n != canary), key=lambda n: not checks[n] <= checks[canary])
    return tuple(others[:_PARTNERS])


def unfinished(store: Store, names: Sequence[str]) -> tuple[NodeRecord, ...]:
    """The nodes that an earlier heal took out of the pool and did not bring to an end; none that a run or a person holds, or that it quarantined."""
    held = {x.node for x in store.leases() if is_held(x, clock.now())}
    return tuple(r for r in store.nodes(names) if r.state in _LEFT and not r.owner and r.name not in held and _left_by_heal(store, r.name))


def _left_by_heal(store: Store, name: str) -> bool:
    steps = store.history(name)
    run_id = steps[-1].run_id if steps else ""
    if not run_id:
        return False
    try:
        return was_healing(RunDir.of(store.run(run_id)))
    except RunDirectoryGoneError:
        return False


@dataclass(frozen=True, slots=True)
class Healing:
    """What is to be healed, in order; `left`: node -> why an unfinished heal is not gone on with."""

    names: tuple[str, ...]
    partners: tuple[str, ...]
    stand_ins: tuple[str, ...]
    left: Mapping[str, str]


def plan_healing(found: DriftRun, config: Config) -> Healing:
    """What a drift run decided to heal, after what an earlier heal left."""
    declared = {n.name: n.spec.digest for n in found.nodes}
    lost = {x.node: x.detail for x in found.report.lost}
    again: list[str] = []
    left: dict[str, str] = {}
    with Store.open(config.store_url) as store:
        records = {r.name: r for r in store.nodes(found.report.nodes)}
        for record in unfinished(store, found.report.nodes):
            if record.name in lost:
                left[record.name] = f"its healing is unfinished, and it was not validated: {lost[record.name]}"
            elif record.spec_digest != declared[record.name]:
                left[record.name] = "its healing is unfinished, and its declared state changed since; `clusterctl plan` shows it"
            else:
                again.append(record.name)
    names = (*again, *found.decisions.heal)
    stand_ins = stand_ins_of(found.report, found.decisions.heal, names[0]) if names else ()
    return Healing(names, partners_of(found.report, records), stand_ins, left)


def provisioner(config: Config, vault_ids: tuple[str, ...], listener: ProgressListener) -> Provision:
    """`provision` of named nodes with the site's burn-in: a healed node is tested like a new one."""

    def provision(names: Sequence[str], partners: Sequence[str]) -> ProvisionResult:
        request = ProvisionRequest(",".join(names), ProvisionOptions(partners=tuple(partners)), vault_ids=vault_ids, healing=True)
        try:
            return run_provision(config, request, listener)
        except BreakerError as e:
            with Store.open(config.store_url) as store:
                store.trip_breaker(operator=config.operator, reason=f"drift --heal: {e}")
            raise

    return provision


def heal_drift(found: DriftRun, config: Config, options: DriftOptions, planned: Healing, provision: Provision) -> DriftRun:
    """Heal what is planned; the run and its files then show the state after healing, and what was healed."""
    healed = heal(planned.names, planned.partners, provision, planned.stand_ins)
    left = tuple({"node": n, "action": "left", "detail": why} for n, why in planned.left.items())
    return update_after_healing(found, config, options, replace(healed, actions=(*healed.actions, *left)))


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
