"""Validation as a recorded run: findings go to the store as nodes answer."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from clusterctl.adapters import clock
from clusterctl.adapters.store import Store
from clusterctl.adapters.validators.validate import validate_each
from clusterctl.model.exit_codes import ExitCode, worst
from clusterctl.model.findings import findings_exit_code
from clusterctl.workflows.lease import Holders
from clusterctl.workflows.run import Run, RunStart, recorded_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from clusterctl.adapters.config import Config
    from clusterctl.adapters.validators.validation_settings import ValidationSettings
    from clusterctl.model.findings import NodeFindings, ValidationListener
    from clusterctl.model.node import Node

_AT_A_TIME = 64


@contextmanager
def read_only_run(verb: str, target: str, nodes: Sequence[Node], config: Config) -> Iterator[Run]:
    """Record a run that changes no node and holds no lease.

    Raises:
        StoreError: the state directory or the database cannot be used.
        InterruptedRunError: in place of KeyboardInterrupt.
    """
    with Store.open(config.store_url) as store:
        store.register_new(nodes)
        names = tuple(n.name for n in nodes)
        with recorded_run(store, RunStart(verb, target, config.operator, config.state_dir, names)) as run:
            yield run


def validate_recorded(
    run: Run, nodes: Sequence[Node], config: Config, settings: ValidationSettings, listener: ValidationListener | None = None
) -> tuple[NodeFindings, ...]:
    """As `record_each`; returns the results in the order of `nodes`. Equal findings are one object, which keeps a fleet's results in memory."""
    results: dict[str, NodeFindings] = {}

    def hold(found: NodeFindings) -> None:
        results[found.node] = found

    record_each(run, nodes, config, settings, hold, listener=listener)
    return tuple(results[n.name] for n in nodes)


def record_each(
    run: Run,
    nodes: Sequence[Node],
    config: Config,
    settings: ValidationSettings,
    on_result: Callable[[NodeFindings], None],
    *,
    listener: ValidationListener | None = None,
) -> None:
    """Validate and save the findings in batches of nodes; keeps no result in memory.

    Findings of a selection of checks (`settings.only`) are not evidence and are not stored.
    """
    settings = replace(settings, cpu_quota_percent=config.cpu_quota_percent)
    waiting: list[NodeFindings] = []
    codes: set[ExitCode] = set()
    bad: list[str] = []
    stored = partial(run.store.findings, current=True)
    holders = Holders(run.store)

    def keep(answered: NodeFindings) -> None:
        found = replace(answered, held_by=holders.text(answered.node), at=clock.now())
        waiting.append(found)
        code = findings_exit_code([found])
        codes.add(code)
        if code is not ExitCode.OK:
            bad.append(found.node)
        on_result(found)
        if len(waiting) >= _AT_A_TIME:
            save()

    def save() -> None:
        if not settings.only:
            run.store.save_findings(run.rundir.id, *waiting)
        waiting.clear()

    try:
        validate_each(nodes, config.state_dir, keep, inventory=config.inventory, settings=settings, stored=stored, listener=listener)
    finally:
        save()
    run.code = worst(list(codes))
    run.summary = {"nodes": len(nodes), "not_as_declared": bad}
