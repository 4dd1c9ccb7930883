"""What is measured across the racks of an order when these are through: the gates of groups, on the nodes that were admitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.adapters.inventory.load import load_nodes
from clusterctl.adapters.pools.loader import load_pool
from clusterctl.adapters.pools.vacating import busy
from clusterctl.adapters.store import Store
from clusterctl.core.gates.gate import Scope
from clusterctl.core.gates.judging.group_findings import group_findings
from clusterctl.core.gates.registry import gate_names
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.state import State
from clusterctl.workflows.burnin.measure_and_judge import level_named, run_burnin, subjects_of
from clusterctl.workflows.burnin.recorded import burnin_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.adapters.config import Config
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.level import Level
    from clusterctl.model.shard import Shard


@dataclass(frozen=True, slots=True)
class AcrossResult:
    """How it ended; without a run, `detail`: why nothing was measured, and which nodes were left out."""

    exit_code: ExitCode
    run_id: str = ""
    detail: str = ""


def measure_across(config: Config, shard: Shard, vault_ids: tuple[str, ...]) -> AcrossResult:
    """Measure the admitted nodes on which no job runs. They stay in the pool: a job that starts meanwhile runs beside it.

    Raises:
        LeaseHeldError: another run works on one of the nodes.
        ClusterctlError: as `burnin`.
    """
    level = level_named(str(shard.options.get("level", "standard")))
    with Store.open(config.store_url) as store:
        admitted = [r.name for r in store.nodes(shard.nodes) if r.state is State.ADMITTED]
        at_work = busy(load_pool(config.pool, store), admitted) if admitted else {}
    idle = [name for name in admitted if name not in at_work]
    left_out = f"left out: {', '.join(sorted(at_work))} run jobs" if at_work else ""
    subjects = subjects_of(load_nodes(config.inventory, ",".join(idle), vault_ids=vault_ids)) if idle else ()
    gates = _gates(subjects, level)
    if not gates or len({s.node.place.rack for s in subjects}) < 2:  # noqa: PLR2004 racks
        why = (
            "fewer than two racks have an admitted node on which no job runs"
            if gates or not subjects
            else f"level {level} has no gate of groups"
        )
        code = ExitCode.GATE_FAILED if gates or not subjects else ExitCode.OK  # could not run; or nothing was to be measured
        return AcrossResult(code, detail="; ".join(w for w in (f"not measured: {why}", left_out) if w))
    nodes = [s.node for s in subjects]
    with burnin_run(f"{shard.order_id}, across racks", nodes, (), config, level, in_service=True, fence=shard.fence) as run:
        run.results = run_burnin(subjects, run.rundir, config, level, gates=gates, usual=run.usual)
        run.group = group_findings(subjects, run.results, run.installed)
    return AcrossResult(run.code, run.rundir.id, left_out)


def _gates(subjects: Sequence[Subject], level: Level) -> tuple[str, ...]:
    """Those that every node measures at this level."""
    return tuple(g for g in gate_names(Scope.GROUP) if subjects and all(g in s.profile.levels[level] for s in subjects))
