"""A drift run: one round trip per node, compared three ways, remembered, written down; the policy's drains. No role can be reached from here."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from clusterctl import clock
from clusterctl.drift import document, memory, metrics, policy, threeway
from clusterctl.drift.model import Known
from clusterctl.errors import IllegalTransitionError, LeaseHeldError, PoolError
from clusterctl.exit_codes import ExitCode, worst
from clusterctl.lifecycle import State
from clusterctl.pool.loader import load_pool
from clusterctl.pool.moves import drain
from clusterctl.render import drift as view
from clusterctl.report import drift_page
from clusterctl.rundir import RunDir
from clusterctl.store import Store
from clusterctl.store.records import RunStatus
from clusterctl.validation.recorded import read_only_run, record_each
from clusterctl_validators.finding import GOOD

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from clusterctl.config import Config
    from clusterctl.drift.model import Action, Deviation, Report
    from clusterctl.drift.policy import Decisions
    from clusterctl.findings import NodeFindings
    from clusterctl.node import Node
    from clusterctl.validation import Settings
    from clusterctl.validation.recorded import ReadOnlyRun
    from clusterctl_validators.finding import Severity

_FEW = 5


@dataclass(frozen=True, slots=True)
class Wish:
    """What the operator asked for. `since_s`: show only what was first seen since; None = all. `textfile`: for node exporter."""

    target: str
    policy: Mapping[Severity, Action]
    heal: bool = False
    since_s: float | None = None
    textfile: Path | None = None


@dataclass(frozen=True, slots=True)
class Healed:
    """What healing did, action by action as the document has them."""

    actions: tuple[dict[str, str], ...]
    code: ExitCode

    @property
    def names(self) -> frozenset[str]:
        """The nodes that were worked on."""
        return frozenset(a["node"] for a in self.actions if a["action"] != "left")


@dataclass(frozen=True, slots=True)
class Watched:
    """What came of it. `shown` is the part of the deviations that was asked for; the code is of all.

    Attributes:
        nodes: as they are declared today.
        began: `time.monotonic()` at the start of the run.
        healing: what the healing came to, where there was one.
    """

    report: Report
    shown: tuple[Deviation, ...]
    body: dict[str, Any]
    decisions: Decisions
    directory: Path
    nodes: tuple[Node, ...]
    began: float
    healing: ExitCode = ExitCode.OK

    @property
    def code(self) -> ExitCode:
        """Of everything found and left, shown or not."""
        return worst([self.report.exit_code, self.healing])


def watch(config: Config, nodes: Sequence[Node], wish: Wish, settings: Settings, on_result: Callable[[NodeFindings], None]) -> Watched:
    """Ask, compare, remember, write down, drain.

    Raises:
        ConfigError, StoreError: as `validate` and the store.
    """
    began = time.monotonic()
    with read_only_run("drift", wish.target, nodes, config) as run:
        results = _needed(run, nodes, config, settings, on_result)
        known = _known(run.store, nodes, results)
        report = _remembered(run.store, run.rundir.id, threeway.compare(results, known, _digests(nodes)))
        decisions = policy.decide(report, wish.policy, known, heal=wish.heal)
        actions = [
            *_drain(run.store, config, decisions.drain),
            *({"node": n, "action": "left", "detail": w} for n, w in decisions.left.items()),
        ]
        body = document.body(run.rundir.id, wish.target, report, actions)
        watched = Watched(report, _asked_for(report, wish), body, decisions, run.rundir.path, tuple(nodes), began)
        _write_down(watched, wish)
        run.code = watched.code
        run.summary = dict(body["summary"])
    return watched


def again(watched: Watched, config: Config, wish: Wish, healed: Healed) -> Watched:
    """The same run after healing: what the nodes that were worked on said last takes the place of what they said before."""
    names = healed.names
    nodes = [n for n in watched.nodes if n.name in names]
    with Store.open(config.store_url) as store:
        results = [found for n in nodes if (found := store.findings(n.name))]
        now = _remembered(store, watched.body["run_id"], threeway.compare(results, _known(store, nodes, results), _digests(nodes)))
        report = _in_place(watched.report, now)
        gone = {(d.node, d.check) for d in watched.report.deviations} - {(d.node, d.check) for d in report.deviations}
        actions = [*watched.body["actions"], *(_with_mended(a, gone) for a in healed.actions)]
        body = document.body(watched.body["run_id"], wish.target, report, actions)
        after = replace(watched, report=report, shown=_asked_for(report, wish), body=body, healing=healed.code)
        _write_down(after, wish)
        store.finish_run(body["run_id"], RunStatus.DONE, int(after.code), body["summary"])
    return after


def _in_place(before: Report, now: Report) -> Report:
    """The report with some of its nodes as they are now."""
    order = {name: i for i, name in enumerate(before.nodes)}
    deviations = [*(d for d in before.deviations if d.node not in now.nodes), *now.deviations]
    lost = [*(x for x in before.lost if x.node not in now.nodes), *now.lost]
    return replace(
        before,
        deviations=tuple(sorted(deviations, key=lambda d: order[d.node])),
        lost=tuple(sorted(lost, key=lambda x: order[x.node])),
    )


def _with_mended(action: Mapping[str, str], gone: Collection[tuple[str, str]]) -> dict[str, str]:
    mended = sorted(check for node, check in gone if node == action["node"])
    more = f" and {len(mended) - _FEW} more" if len(mended) > _FEW else ""
    return {**action, "detail": f"{action['detail']}; mended: {', '.join(mended[:_FEW])}{more}"} if mended else dict(action)


def _asked_for(report: Report, wish: Wish) -> tuple[Deviation, ...]:
    return report.deviations if wish.since_s is None else memory.since(report, wish.since_s, clock.now())


def _write_down(watched: Watched, wish: Wish) -> None:
    """The files of the run, over those that are there."""
    rundir = RunDir.open(watched.directory)
    text = metrics.textfile(watched.report, wish.target, ended_at_s=time.time(), duration_s=time.monotonic() - watched.began)
    rundir.write_json("drift.json", watched.body)
    rundir.write_text("drift.xml", view.junit(watched.report))
    rundir.write_text("drift.html", drift_page.render(watched.body, clock.now()))
    rundir.write_text("drift.prom", text)
    if wish.textfile:
        _replace(wish.textfile, text)


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


def _digests(nodes: Iterable[Node]) -> dict[str, str]:
    return {n.name: n.spec.digest for n in nodes}


def _remembered(store: Store, run_id: str, report: Report) -> Report:
    """The report with first and last seen, which the store keeps."""
    dated, ended = memory.remember(report, store.open_drift(report.nodes), clock.now())
    store.save_drift(run_id, dated.deviations, ended)
    return dated


def _drain(store: Store, config: Config, names: Sequence[str]) -> list[dict[str, str]]:
    """A drain that the circuit breaker, a lease or the pool refuses is told; where it broke off, each node as it then is."""
    if not names:
        return []
    reason = "drift: see `clusterctl drift`"
    try:
        moves = drain(store, load_pool(config.pool, store), store.nodes(names), operator=config.operator, reason=reason)
    except (PoolError, LeaseHeldError, IllegalTransitionError) as e:
        out = {r.name for r in store.nodes(names) if r.state is State.DRAINED}
        return [{"node": n, "action": "drained" if n in out else "drain refused", "detail": reason if n in out else str(e)} for n in names]
    return [{"node": m.node, "action": "drained", "detail": m.detail} for m in moves]


def _replace(file: Path, text: str) -> None:
    """In one step: the collector must never read half a file."""
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.chmod(0o644)
    draft.replace(file)
