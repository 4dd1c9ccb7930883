"""The nodes of a run that are good: the lists that `report --hosts` prints. Pure. A node that the run does not show to be good is failing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.switch_tree import hostlist
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.findings import findings_exit_code
from clusterctl.model.hosts_of_run import HostsOfRun
from clusterctl.model.records import RunStatus
from clusterctl.model.state import State
from clusterctl_validators.finding import GOOD

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.model.records import RunRow
    from clusterctl.model.run_report import NodeSection


def hosts_of_run(run: RunRow, sections: Iterable[NodeSection], wanted: HostsOfRun) -> tuple[str, ...]:
    """The lines of a list. Every node of the run is either passing or failing.

    `exclude` is one line, the failing nodes as Slurm abbreviates them, or none where all pass.
    """
    good = {s.name: passes(run, s) for s in sections}
    names = [name for name, is_good in good.items() if is_good is (wanted is HostsOfRun.PASSING)]
    return (hostlist(names),) if names and wanted is HostsOfRun.EXCLUDE else tuple(names)


def passes(run: RunRow, section: NodeSection) -> bool:
    """By what the verb is for: `provision` left the node admitted; `validate` found it as declared; `burnin` ended, and no gate failed or could not run.

    Only what the run itself found counts. A warning or a waived result is not a failure.
    """
    if run.verb == "provision":
        return section.state is State.ADMITTED
    if run.verb == "validate":
        found = section.findings
        return found is not None and not section.findings_earlier and findings_exit_code([found]) is ExitCode.OK
    results = () if section.gates_earlier else section.gate_results
    return run.status is RunStatus.DONE and bool(results) and all(r.outcome in GOOD for r in results)
