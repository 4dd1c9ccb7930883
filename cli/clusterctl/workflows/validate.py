"""A validation as a run: a row, a directory, findings in the store."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from clusterctl.adapters import clock
from clusterctl.adapters.run_directory import RunDir
from clusterctl.adapters.store import Store
from clusterctl.adapters.validators.validate import validate_each
from clusterctl.adapters.versions import versions
from clusterctl.model.exit_codes import ExitCode, worst
from clusterctl.model.findings import findings_exit_code
from clusterctl.model.records import RunRow, RunStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from clusterctl.adapters.config import Config
    from clusterctl.adapters.validators.settings import ValidationSettings
    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.node import Node

_AT_A_TIME = 64


@dataclass(slots=True)
class ReadOnlyRun:
    """A run that looks and changes nothing; `code` and `summary` are recorded at its end."""

    rundir: RunDir
    store: Store
    code: ExitCode = ExitCode.OK
    summary: dict[str, object] = field(default_factory=dict)


@contextmanager
def read_only_run(verb: str, target: str, nodes: Sequence[Node], config: Config) -> Iterator[ReadOnlyRun]:
    """Record a run around the body, whatever end it takes.

    Raises:
        StoreError: the state directory or the database cannot be used.
    """
    with Store.open(config.store_url) as store:
        store.register(nodes)
        run = ReadOnlyRun(RunDir.create(config.state_dir, verb), store)
        row = RunRow(run.rundir.id, verb, target, config.operator, clock.now(), tuple(sys.argv[1:]), versions(), str(run.rundir.path))
        store.start_run(row, [n.name for n in nodes])
        try:
            yield run
        except BaseException as e:
            stopped = isinstance(e, KeyboardInterrupt)
            code = ExitCode.INTERRUPTED if stopped else getattr(e, "exit_code", ExitCode.UNEXPECTED)
            status = RunStatus.INTERRUPTED if stopped else RunStatus.FAILED
            store.finish_run(run.rundir.id, status, int(code), {"error": f"{type(e).__name__}: {e}"})
            raise
        store.finish_run(run.rundir.id, RunStatus.DONE, int(run.code), run.summary)


def validate_recorded(
    run: ReadOnlyRun, nodes: Sequence[Node], config: Config, settings: ValidationSettings, on_result: Callable[[NodeFindings], None]
) -> tuple[NodeFindings, ...]:
    """As `record_each`; gives the results, in the order of `nodes`. Equal findings are one object, so that a fleet's can be held."""
    results: dict[str, NodeFindings] = {}

    def hold(found: NodeFindings) -> None:
        results[found.node] = found
        on_result(found)

    record_each(run, nodes, config, settings, hold)
    return tuple(results[n.name] for n in nodes)


def record_each(
    run: ReadOnlyRun, nodes: Sequence[Node], config: Config, settings: ValidationSettings, on_result: Callable[[NodeFindings], None]
) -> None:
    """Validate and keep the findings, those of many nodes at a time; hold no result.

    Findings of a part of the checks (`settings.only`) are no evidence and stay out of the store.
    """
    settings = replace(settings, cpu_quota_percent=config.cpu_quota_percent)
    waiting: list[NodeFindings] = []
    codes: set[ExitCode] = set()
    bad: list[str] = []
    stored = partial(run.store.findings, current=True)

    def keep(found: NodeFindings) -> None:
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
        validate_each(nodes, config.state_dir, keep, inventory=config.inventory, settings=settings, stored=stored)
    finally:
        save()
    run.code = worst(list(codes))
    run.summary = {"nodes": len(nodes), "not_as_declared": bad}
