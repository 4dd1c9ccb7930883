"""A drift run: one round trip per node, compared three ways, remembered, written down; the policy's drains. No role can be reached from here."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from clusterctl import clock
from clusterctl.drift import document, memory, metrics, policy, threeway
from clusterctl.drift.model import Known
from clusterctl.errors import ClusterctlError
from clusterctl.pool.loader import load_pool
from clusterctl.pool.moves import drain
from clusterctl.render import drift as view
from clusterctl.report import drift_page
from clusterctl.validation.recorded import read_only_run, record_each
from clusterctl_validators.finding import GOOD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from clusterctl.config import Config
    from clusterctl.drift.model import Action, Deviation, Report
    from clusterctl.drift.policy import Decisions
    from clusterctl.exit_codes import ExitCode
    from clusterctl.findings import NodeFindings
    from clusterctl.node import Node
    from clusterctl.store.store import Store
    from clusterctl.validation import Settings
    from clusterctl.validation.recorded import ReadOnlyRun
    from clusterctl_validators.finding import Severity


@dataclass(frozen=True, slots=True)
class Wish:
    """What the operator asked for. `since_s`: show only what was first seen since; None = all. `textfile`: for node exporter."""

    target: str
    policy: Mapping[Severity, Action]
    heal: bool = False
    since_s: float | None = None
    textfile: Path | None = None


@dataclass(frozen=True, slots=True)
class Watched:
    """What came of it. `shown` is the part of the deviations that was asked for; the code is of all."""

    report: Report
    shown: tuple[Deviation, ...]
    body: dict[str, Any]
    decisions: Decisions
    directory: Path

    @property
    def code(self) -> ExitCode:
        """Of everything found, shown or not."""
        return self.report.exit_code


def watch(config: Config, nodes: Sequence[Node], wish: Wish, settings: Settings, on_result: Callable[[NodeFindings], None]) -> Watched:
    """Ask, compare, remember, write down, drain.

    Raises:
        ConfigError, StoreError: as `validate` and the store.
    """
    began = time.monotonic()
    with read_only_run("drift", wish.target, nodes, config) as run:
        results = _needed(run, nodes, config, settings, on_result)
        known = _known(run.store, nodes, results)
        report, ended, now = _remembered(run.store, threeway.compare(results, known, {n.name: n.spec.digest for n in nodes}))
        run.store.save_drift(run.rundir.id, report.deviations, ended)
        decisions = policy.decide(report, wish.policy, known, heal=wish.heal)
        actions = [
            *_drain(run.store, config, decisions.drain),
            *({"node": n, "action": "left", "detail": w} for n, w in decisions.left.items()),
        ]
        shown = report.deviations if wish.since_s is None else memory.since(report, wish.since_s, now)
        body = document.body(run.rundir.id, wish.target, report, actions)
        text = metrics.textfile(report, wish.target, ended_at_s=time.time(), duration_s=time.monotonic() - began)
        run.rundir.write_json("drift.json", body)
        run.rundir.write_text("drift.xml", view.junit(report))
        run.rundir.write_text("drift.html", drift_page.render(body, now))
        run.rundir.write_text("drift.prom", text)
        if wish.textfile:
            _replace(wish.textfile, text)
        run.code = report.exit_code
        run.summary = dict(body["summary"])
    return Watched(report, shown, body, decisions, run.rundir.path)


def _needed(
    run: ReadOnlyRun, nodes: Sequence[Node], config: Config, settings: Settings, on_result: Callable[[NodeFindings], None]
) -> tuple[NodeFindings, ...]:
    """The results with what does not hold and what did not hold before; the rest, millions in a fleet, is in the store only."""
    watched = {(s.node, s.check) for s in run.store.open_drift(n.name for n in nodes)}
    results: dict[str, NodeFindings] = {}

    def keep(found: NodeFindings) -> None:
        needed = tuple(f for f in found.findings if f.outcome not in GOOD or (found.node, f.check) in watched)
        results[found.node] = replace(found, findings=needed)
        on_result(found)

    record_each(run, nodes, config, settings, keep)
    return tuple(results[n.name] for n in nodes)


def _known(store: Store, nodes: Sequence[Node], results: Sequence[NodeFindings]) -> dict[str, Known]:
    """What was expected then is asked for where the declared state moved, and of the checks that do not hold now."""
    records = {r.name: r for r in store.nodes([n.name for n in nodes])}
    moved = {n.name for n in nodes if records[n.name].spec_digest != n.spec.digest}
    then = store.expected_then({r.node: {f.check for f in r.findings if f.outcome not in GOOD} for r in results if r.node in moved})
    return {name: Known(r.state, r.spec_digest, then.get(name, {})) for name, r in records.items()}


def _remembered(store: Store, report: Report) -> tuple[Report, tuple[memory.Seen, ...], str]:
    now = clock.now()
    dated, ended = memory.remember(report, store.open_drift(report.nodes), now)
    return dated, ended, now


def _drain(store: Store, config: Config, names: Sequence[str]) -> list[dict[str, str]]:
    """A drain that the circuit breaker or a lease refuses is told, and the nodes stay where they are."""
    if not names:
        return []
    try:
        moves = drain(
            store, load_pool(config.pool, store), store.nodes(names), operator=config.operator, reason="drift: see `clusterctl drift`"
        )
    except ClusterctlError as e:
        return [{"node": n, "action": "drain refused", "detail": str(e)} for n in names]
    return [{"node": m.node, "action": "drained", "detail": m.detail} for m in moves]


def _replace(file: Path, text: str) -> None:
    """In one step: the collector must never read half a file."""
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.chmod(0o644)
    draft.replace(file)


def without(report: Report, healed: Sequence[str]) -> Report:
    """The report of the nodes that were not healed since."""
    return replace(report, deviations=tuple(d for d in report.deviations if d.node not in healed))
