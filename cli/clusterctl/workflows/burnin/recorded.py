"""A burn-in as a run of its own: leases on the nodes, a row, a directory, verdicts in the store."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clusterctl.adapters import clock
from clusterctl.adapters.run_directory import RunDir
from clusterctl.adapters.store import Store
from clusterctl.adapters.versions import versions
from clusterctl.core.redact import Redactor
from clusterctl.model.errors import InterruptedRunError, UsageProblemError
from clusterctl.model.exit_codes import ExitCode, worst
from clusterctl.model.gate_result import Outcome
from clusterctl.model.records import RunRow, RunStatus
from clusterctl.model.state import State
from clusterctl.workflows.burnin.measure import NODE_UNREACHABLE
from clusterctl.workflows.provision.session import LeaseKeeper

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clusterctl.adapters.config import Config
    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.node import Node

_GOOD = frozenset({Outcome.PASS, Outcome.NOT_APPLICABLE, Outcome.WAIVED})


@dataclass(slots=True)
class BurninRun:
    """A burn-in under way; `results` are recorded at its end."""

    rundir: RunDir
    results: tuple[GateResult, ...] = field(default=())

    @property
    def code(self) -> ExitCode:
        """0, 7 where a gate failed or could not run, 4 where a node could not be reached."""
        return gates_exit_code(self.results)


def gates_exit_code(results: Sequence[GateResult]) -> ExitCode:
    """What a burn-in or a judgement exits with; no verdict at all is no success."""
    bad = [r for r in results if r.outcome not in _GOOD]
    lost = any(NODE_UNREACHABLE in r.detail for r in bad)
    codes = [ExitCode.GATE_FAILED] if bad or not results else []
    return worst([*codes, *([ExitCode.UNREACHABLE] if lost else [])])


@contextmanager
def burnin_run(target: str, nodes: Sequence[Node], partners: Sequence[Node], config: Config, *, in_service: bool) -> Iterator[BurninRun]:
    """Hold all nodes, record the run and its verdicts around the body, whatever end it takes.

    Raises:
        UsageProblemError: a node to be judged is admitted, and `in_service` is not set.
        LeaseHeldError: somebody else works on one of the nodes.
        StoreError: the state directory or the database cannot be used.
        InterruptedRunError: in place of KeyboardInterrupt.
    """
    with Store.open(config.store_url) as store:
        everyone = (*nodes, *partners)
        store.register(everyone)
        if not in_service:
            _refuse_admitted(store, nodes)
        rundir = RunDir.create(config.state_dir, "burnin")
        names = [n.name for n in everyone]
        store.acquire(names, run_id=rundir.id, holder=config.operator)
        keeper = LeaseKeeper(store, rundir.id, len(set(names)))
        run = BurninRun(rundir)
        try:
            argv = tuple(Redactor()(word) for word in sys.argv[1:])
            row = RunRow(rundir.id, "burnin", target, config.operator, clock.now(), argv, versions(), str(rundir.path))
            store.start_run(row, names)
            keeper.start()
            yield run
            judged = {n.name for n in nodes}
            store.save_gate_results(rundir.id, [r for r in run.results if r.node in judged])
            bad = sorted({r.node for r in run.results if r.outcome not in _GOOD})
            store.finish_run(rundir.id, RunStatus.DONE, int(run.code), {"nodes": len(judged), "not_passed": bad})
        except KeyboardInterrupt as e:
            store.finish_run(rundir.id, RunStatus.INTERRUPTED, int(ExitCode.INTERRUPTED), {"error": "interrupted"})
            hint = "commands on the nodes end by themselves at their time limits; then run it again"
            raise InterruptedRunError(detail="burn-in stopped; nothing was judged", hint=hint) from e
        except BaseException as e:
            code = getattr(e, "exit_code", ExitCode.UNEXPECTED)
            store.finish_run(rundir.id, RunStatus.FAILED, int(code), {"error": f"{type(e).__name__}: {e}"})
            raise
        finally:
            keeper.end()
            store.release(rundir.id)


def _refuse_admitted(store: Store, nodes: Sequence[Node]) -> None:
    admitted = [r.name for r in store.nodes([n.name for n in nodes]) if r.state is State.ADMITTED]
    if admitted:
        raise UsageProblemError(
            detail=f"{', '.join(admitted[:4])}{' ...' if len(admitted) > 4 else ''} is admitted: jobs may run there",  # noqa: PLR2004 a line's length
            hint=f"`clusterctl drain {admitted[0]}` first, or add --in-service",
        )
