"""What `clusterctl report` prints instead of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.model.errors import UsageProblemError
from clusterctl.terminal.out import print_lines

if TYPE_CHECKING:
    from clusterctl.adapters.store import Store
    from clusterctl.model.hosts_of_run import HostsOfRun
    from clusterctl.model.records import RunRow


def print_hosts(store: Store, row: RunRow, wanted: HostsOfRun) -> None:
    """Names for pipes: one node per line, or one line for Slurm; nothing where there is none."""
    from clusterctl.core.run_hosts import hosts_of_run  # noqa: PLC0415
    from clusterctl.workflows.collect_report import REPORTABLE, node_sections  # noqa: PLC0415

    if row.verb not in REPORTABLE:
        raise UsageProblemError(detail=f"run {row.id} ({row.verb}) judged no nodes", hint=f"--hosts is for {', '.join(sorted(REPORTABLE))}")
    print_lines(f"{line}\n" for line in hosts_of_run(row, node_sections(store, row, {}), wanted))


def print_comparison(store: Store, before: str, after: str, *, output: str) -> None:
    """What changed from one run to another."""
    from clusterctl.terminal.comparison import show_comparison  # noqa: PLC0415
    from clusterctl.workflows.compare_two_runs import compare_two_runs  # noqa: PLC0415

    show_comparison(compare_two_runs(store, before, after), output)
