"""A drift run: one round trip per node, a three-way comparison, the record, the drains of the policy. No role is reachable from here."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from clusterctl.adapters import clock
from clusterctl.adapters.pools.loader import load_pool
from clusterctl.adapters.run_directory import RunDir
from clusterctl.adapters.store import Store
from clusterctl.adapters.validator_declarations import validator_traits
from clusterctl.core.after_boot import SETTLED_S
from clusterctl.core.drift import compare, document, memory, policy
from clusterctl.core.repairs import repair_of_deviation
from clusterctl.model.boots import KEPT_OUT
from clusterctl.model.drift import DriftAction, DriftKind, DriftReport, Known
from clusterctl.model.errors import BreakerError, LeaseHeldError, PoolError
from clusterctl.model.exit_codes import ExitCode, worst
from clusterctl.model.move import MoveOutcome
from clusterctl.model.records import RunStatus
from clusterctl.model.running_text import first_of
from clusterctl.model.state import State
from clusterctl.model.verdict import Reason, ReasonKind
from clusterctl.workflows.drain import drain
from clusterctl.workflows.drift.booted import return_booted
from clusterctl.workflows.drift.files import Documents, no_documents, write_files, write_metrics
from clusterctl.workflows.just_booted import wait_until_up
from clusterctl.workflows.lemons import flapping_of
from clusterctl.workflows.validate import read_only_run, record_each
from clusterctl_validators.finding import GOOD, Severity

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from clusterctl.adapters.config import Config
    from clusterctl.adapters.validators import ValidationSettings
    from clusterctl.core.drift.policy import Decisions
    from clusterctl.model.drift import Deviation
    from clusterctl.model.findings import NodeFindings, ValidationListener
    from clusterctl.model.node import Node
    from clusterctl.workflows.run import Run

_FEW = 5
_DRIFTED = "drift: see `clusterctl drift`"
_BOOTS = "it boots by itself too often: see `clusterctl history NODE --worst`"
_FLAPPING = "a link flapped for days: see `clusterctl history NODE --worst`"


@dataclass(frozen=True, slots=True)
class DriftOptions:
    """The options of a drift run.

    Attributes:
        since_s: show only what was first seen within this many seconds; None = all.
        textfile: metrics for node exporter, besides the one in the run directory.
        documents: renders the run's further files (HTML, JUnit) from the report and its document.
        booted: only the nodes that booted since they were verified are looked at, and the metrics have names of their own.
        to_return: the nodes that their scheduler took out for their boot, and that are returned where they are as declared.
    """

    target: str
    policy: Mapping[str, DriftAction]
    heal: bool = False
    since_s: float | None = None
    textfile: Path | None = None
    documents: Documents = no_documents
    booted: bool = False
    to_return: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Healed:
    """What healing did, action by action as the document lists them."""

    actions: tuple[dict[str, str], ...]
    code: ExitCode

    @property
    def names(self) -> frozenset[str]:
        """The nodes that were provisioned."""
        return frozenset(a["node"] for a in self.actions if a["action"] != "left")


@dataclass(frozen=True, slots=True)
class DriftRun:
    """The result of a drift run. `shown` are the deviations that the options select; the exit code covers all.

    Attributes:
        nodes: as they are declared today.
        began: `time.monotonic()` at the start of the run.
        healing: exit code of the healing, where there was one.
        returning: exit code of returning nodes to the pool.
    """

    report: DriftReport
    shown: tuple[Deviation, ...]
    body: dict[str, Any]
    decisions: Decisions
    directory: Path
    nodes: tuple[Node, ...]
    began: float
    healing: ExitCode = ExitCode.OK
    returning: ExitCode = ExitCode.OK

    @property
    def code(self) -> ExitCode:
        """The exit code: of everything found and left, shown or not."""
        return worst([self.report.exit_code, self.healing, self.returning])


def check_drift(
    config: Config,
    nodes: Sequence[Node],
    options: DriftOptions,
    settings: ValidationSettings,
    listener: ValidationListener | None = None,
) -> DriftRun:
    """Validate, compare, record, write files, drain. Without nodes, as where none booted: no run is recorded.

    Raises:
        ConfigError, StoreError: as `validate` and the store.
    """
    began = time.monotonic()
    if not nodes:
        return _nothing(config, options, began)
    with read_only_run("drift", options.target, nodes, config) as run:
        results = _relevant(run, nodes, config, settings, listener)
        known = _known(run.store, nodes, results)
        report = _remembered(run.store, run.rundir.id, compare.compare_nodes(results, known, _digests(nodes)))
        flapping = _flapping(run.store, config, options, report.nodes)
        decisions = policy.decide_actions(report, options.policy, known, heal=options.heal, flapping=flapping)
        returned = return_booted(run, config, report, options, (*decisions.drain, *decisions.flapping))
        actions = [
            *_drain(run.store, config, decisions.drain, _DRIFTED, _worst(report, decisions.drain)),
            *_drain(run.store, config, decisions.flapping, _FLAPPING),
            *({"node": n, "action": "left", "detail": w} for n, w in decisions.left.items()),
            *returned.actions,
            *_keep_out(run, config, returned.too_often),
        ]
        body = document.drift_document(run.rundir.id, options.target, report, actions)
        found = DriftRun(report, _shown(report, options), body, decisions, run.rundir.path, tuple(nodes), began, returning=returned.code)
        _write(found, options)
        run.code = found.code
        run.summary = dict(body["summary"])
    return found


def _nothing(config: Config, options: DriftOptions, began: float) -> DriftRun:
    report = DriftReport((), (), ())
    if options.textfile:
        write_metrics(options.textfile, report, options.target, duration_s=time.monotonic() - began, booted=options.booted)
    return DriftRun(
        report, (), document.drift_document("", options.target, report), policy.Decisions((), (), {}), config.state_dir, (), began
    )


def update_after_healing(found: DriftRun, config: Config, options: DriftOptions, healed: Healed) -> DriftRun:
    """The same run after healing: the newest findings of the nodes that were provisioned replace the earlier ones."""
    names = healed.names
    nodes = [n for n in found.nodes if n.name in names]
    with Store.open(config.store_url) as store:
        results = [f for n in nodes if (f := store.findings(n.name))]
        now = _remembered(store, found.body["run_id"], compare.compare_nodes(results, _known(store, nodes, results), _digests(nodes)))
        report = _replaced(found.report, now)
        gone = {(d.node, d.check) for d in found.report.deviations} - {(d.node, d.check) for d in report.deviations}
        actions = [*found.body["actions"], *(_with_repaired(a, gone) for a in healed.actions)]
        body = document.drift_document(found.body["run_id"], options.target, report, actions)
        after = replace(found, report=report, shown=_shown(report, options), body=body, healing=healed.code)
        _write(after, options)
        store.finish_run(body["run_id"], RunStatus.DONE, int(after.code), body["summary"])
    return after


def _replaced(before: DriftReport, now: DriftReport) -> DriftReport:
    """The report with some of its nodes as they are now."""
    order = {name: i for i, name in enumerate(before.nodes)}
    deviations = [*(d for d in before.deviations if d.node not in now.nodes), *now.deviations]
    lost = [*(x for x in before.lost if x.node not in now.nodes), *now.lost]
    return replace(
        before,
        deviations=tuple(sorted(deviations, key=lambda d: order[d.node])),
        lost=tuple(sorted(lost, key=lambda x: order[x.node])),
    )


def _with_repaired(action: Mapping[str, str], gone: Collection[tuple[str, str]]) -> dict[str, str]:
    repaired = sorted(check for node, check in gone if node == action["node"])
    return {**action, "detail": f"{action['detail']}; repaired: {first_of(repaired, _FEW)}"} if repaired else dict(action)


def _shown(report: DriftReport, options: DriftOptions) -> tuple[Deviation, ...]:
    return report.deviations if options.since_s is None else memory.since(report, options.since_s, clock.now())


def _write(found: DriftRun, options: DriftOptions) -> None:
    write_files(
        RunDir.open(found.directory),
        found.report,
        found.body,
        options.documents,
        target=options.target,
        textfile=options.textfile,
        duration_s=time.monotonic() - found.began,
        booted=options.booted,
    )


def _relevant(
    run: Run, nodes: Sequence[Node], config: Config, settings: ValidationSettings, listener: ValidationListener | None
) -> tuple[NodeFindings, ...]:
    """The results, reduced to checks that fail now or failed before; the rest, millions in a fleet, stays in the store."""
    before = {(s.node, s.check) for s in run.store.open_drift(n.name for n in nodes)}
    results: dict[str, NodeFindings] = {}

    def keep(found: NodeFindings) -> None:
        needed = tuple(f for f in found.findings if f.outcome not in GOOD or (found.node, f.check) in before)
        results[found.node] = replace(found, findings=needed)

    def look(names: Collection[str]) -> None:
        record_each(run, [n for n in nodes if n.name in names], config, settings, keep, listener=listener)

    look({n.name for n in nodes})
    if any(found.uptime_s is not None and found.uptime_s < SETTLED_S and found.findings for found in results.values()):
        wait_until_up(results, validator_traits(), look, listener.note if listener else lambda _text: None)
    return tuple(results[n.name] for n in nodes)


def _known(store: Store, nodes: Sequence[Node], results: Sequence[NodeFindings]) -> dict[str, Known]:
    """What the store has recorded of the nodes; earlier expectations only where the declared state changed, for the checks that fail now."""
    records = {r.name: r for r in store.nodes([n.name for n in nodes])}
    changed = {n.name for n in nodes if records[n.name].spec_digest != n.spec.digest}
    then = store.expected_then({r.node: {f.check for f in r.findings if f.outcome not in GOOD} for r in results if r.node in changed})
    return {name: Known(r.state, r.spec_digest, then.get(name, {})) for name, r in records.items()}


def _digests(nodes: Iterable[Node]) -> dict[str, str]:
    return {n.name: n.spec.digest for n in nodes}


def _remembered(store: Store, run_id: str, report: DriftReport) -> DriftReport:
    """The report with first and last seen, which the store keeps."""
    dated, ended = memory.remember(report, store.open_drift(report.nodes), clock.now())
    store.save_drift(run_id, dated.deviations, ended)
    return dated


def _flapping(store: Store, config: Config, options: DriftOptions, names: Sequence[str]) -> frozenset[str]:
    """Read only for sites whose policy acts on it."""
    if options.policy.get(policy.LINK_FLAPS, DriftAction.REPORT) is DriftAction.REPORT:
        return frozenset()
    return flapping_of(store, config.lemon_limits, store.nodes(names))


def _worst(report: DriftReport, names: Sequence[str]) -> dict[str, Reason]:
    """Node -> the most severe check that fails now and was as declared before; one whose cause is above the node only where there is no other."""
    ranks = list(Severity)
    worst_of = {n: min(report.of(n, DriftKind.DRIFT), key=lambda d: (bool(d.above), ranks.index(d.severity))) for n in names}
    kinds = {n: ReasonKind.CHECK_SHARED if d.above else ReasonKind.CHECK_FAILED for n, d in worst_of.items()}
    texts = {n: f"{d.check}: found {d.found or 'nothing'}, expected {d.expected}" for n, d in worst_of.items()}
    return {n: Reason(kinds[n], texts[n], hint=d.hint, item=d.check, repair=repair_of_deviation(d)) for n, d in worst_of.items()}


def _keep_out(run: Run, config: Config, too_often: Mapping[str, Reason]) -> list[dict[str, str]]:
    """Drain the nodes that boot by themselves too often, and count this boot: as a lemon each owes a burn-in of level full."""
    actions = _drain(run.store, config, tuple(too_often), _BOOTS, too_often)
    for node in (a["node"] for a in actions if a["action"] == "drained"):
        run.store.save_run_node(run.rundir.id, node, phase="done", outcome=KEPT_OUT, detail=too_often[node].text)
    return actions


def _drain(
    store: Store, config: Config, names: Sequence[str], reason: str, found: Mapping[str, Reason] | None = None
) -> list[dict[str, str]]:
    """Drain; what circuit breaker (which then stays open), lease or pool refuse is reported, each node as it is after an incomplete drain."""
    if not names:
        return []
    try:
        pool = load_pool(config.pool, store)
        limits, why = config.limits.unplanned(), ReasonKind.CHECK_FAILED
        moves = drain(store, pool, store.nodes(names), operator=config.operator, reason=reason, cause=why, limits=limits, found=found)
    except (PoolError, LeaseHeldError) as e:
        if isinstance(e, BreakerError):  # nobody looked at these nodes: one person must
            store.trip_breaker(operator=config.operator, reason=f"drift: {e}")
        out = {r.name for r in store.nodes(names) if r.state is State.DRAINED}
        return [{"node": n, "action": "drained" if n in out else "drain refused", "detail": reason if n in out else str(e)} for n in names]
    return [
        {"node": m.node, "action": "drain refused" if m.outcome is MoveOutcome.REFUSED else "drained", "detail": m.detail} for m in moves
    ]
