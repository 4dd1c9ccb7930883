"""`clusterctl burnin` as a recorded run: leases on the nodes, verdicts in the store."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from clusterctl.adapters.store import Store
from clusterctl.adapters.validator_declarations import validator_traits
from clusterctl.model.errors import UsageProblemError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.gate_result import gates_exit_code
from clusterctl.model.group_findings import GroupFindings
from clusterctl.model.records import RunStatus
from clusterctl.model.running_text import first_of
from clusterctl.model.state import State
from clusterctl.workflows.installed_versions import keep_installed
from clusterctl.workflows.lease import leases_on
from clusterctl.workflows.own_history import usual_of
from clusterctl.workflows.run import RunStart, recorded_run
from clusterctl_validators.finding import GOOD

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from clusterctl.adapters.config import Config
    from clusterctl.adapters.run_directory import RunDir
    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.installed_skew import InstalledVersion
    from clusterctl.model.level import Level
    from clusterctl.model.node import Node
    from clusterctl.model.own_history import HistoryKey
    from clusterctl.model.shard import Fence

_VERB = "burnin"


@dataclass(slots=True)
class BurninRun:
    """A burn-in in progress; `results` are recorded at its end.

    Attributes:
        notes: what it found of burn-ins before it.
        usual: what the nodes read in earlier runs.
        installed: the versions of driver, firmware and kernel on the nodes and partners, where they are known.
        group: what is of groups of nodes.
    """

    rundir: RunDir
    notes: tuple[str, ...] = ()
    usual: Mapping[HistoryKey, float] = field(default_factory=dict)
    installed: Mapping[str, Sequence[InstalledVersion]] = field(default_factory=dict)
    results: tuple[GateResult, ...] = field(default=())
    group: GroupFindings = GroupFindings()  # noqa: RUF009 frozen

    @property
    def code(self) -> ExitCode:
        """0, 7 where a gate failed or could not run, 4 where a node could not be reached."""
        return gates_exit_code(self.results)


@contextmanager
def burnin_run(
    target: str,
    nodes: Sequence[Node],
    partners: Sequence[Node],
    config: Config,
    level: Level,
    *,
    in_service: bool,
    fence: Fence | None = None,
) -> Iterator[BurninRun]:
    """Hold leases on all nodes while they are measured; record the run and the verdicts. `fence`: of a worker of the queue.

    Raises:
        UsageProblemError: a node to be judged is admitted, and `in_service` is not set.
        LeaseHeldError: another run holds one of the nodes.
        ConfigError: what a validator declares is not valid.
        StoreError: the state directory or the database cannot be used.
        InterruptedRunError: in place of KeyboardInterrupt.
    """
    traits = validator_traits()
    with Store.open(config.store_url, fence=fence) as store:
        everyone = (*nodes, *partners)
        store.register_new(everyone)
        if not in_service:
            _refuse_admitted(store, nodes)
        names = tuple(dict.fromkeys(n.name for n in everyone))
        start = RunStart(
            _VERB,
            target,
            config.operator,
            config.state_dir,
            names,
            leased=leases_on(everyone),
            interrupted="burn-in stopped; nothing was judged",
            hint="commands on the nodes end by themselves at their time limits; then run it again",
        )
        with recorded_run(store, start) as recorded:
            store.register(everyone)
            installed = keep_installed(store, names, recorded.rundir, traits)
            run = BurninRun(recorded.rundir, _close_killed(store, names), usual_of(store, [n.name for n in nodes]), installed)
            yield run
            judged = {n.name for n in nodes}
            store.save_gate_results(recorded.rundir.id, [r for r in run.results if r.node in judged], level)
            bad = sorted({r.node for r in run.results if r.outcome not in GOOD})
            recorded.code, recorded.summary = run.code, {"nodes": len(judged), "not_passed": bad, **asdict(run.group)}


def _close_killed(store: Store, names: Collection[str]) -> tuple[str, ...]:
    """Close burn-ins of these nodes whose controller was killed; there is nothing to continue. Returns one line for each."""
    killed = [r for r in store.unfinished_runs() if r.verb == _VERB and {n.node for n in store.run_nodes(r.id)} & set(names)]
    for run in killed:
        store.finish_run(run.id, RunStatus.ABANDONED, ExitCode.INTERRUPTED, {"error": "killed"})
    return tuple(f"run {r.id} of {r.operator} was killed; what it left on the nodes is ended, and nothing of it counts" for r in killed)


def _refuse_admitted(store: Store, nodes: Sequence[Node]) -> None:
    admitted = [r.name for r in store.nodes([n.name for n in nodes]) if r.state is State.ADMITTED]
    if admitted:
        raise UsageProblemError(
            detail=f"{first_of(admitted)} {'is' if len(admitted) == 1 else 'are'} admitted: jobs may run there",
            hint=f"`clusterctl drain {admitted[0]}` first, or add --in-service",
        )
