"""`clusterctl report`: what a run found, as an HTML page, as OCP Test & Validation output, in one archive, beside another run, or as names of nodes."""

from __future__ import annotations

from pathlib import Path

import rich_click as click
from click.core import ParameterSource

from clusterctl.commands import complete
from clusterctl.commands.options import load_config
from clusterctl.model.errors import UsageProblemError
from clusterctl.model.hosts_of_run import HostsOfRun
from clusterctl.terminal.out import FORMATS

_PAGES = ("html", "ocptv")
_FORMAT = "html, or ocptv: a test run per node. With --compare table, json or yaml.  [default: html; with --compare table]"
_OUT = "Output file.  [default: report.html in the run directory; with -o ocptv the terminal]. With -o ocptv a folder: a file per node."
_HOSTS = "Print the names of nodes instead, one per line; exclude: the failing ones in one line for Slurm's --exclude."
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("report")
@click.argument("run", default="last", shell_complete=complete.runs)
@click.option("-o", "--output", type=click.Choice((*_PAGES, *FORMATS)), help=_FORMAT)
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help=_OUT)
@click.option("--bundle", type=_FILE, metavar="FILE", help="Write page and evidence as one .tar.gz instead.")
@click.option(
    "--compare", nargs=2, metavar="RUN RUN", shell_complete=complete.runs, help="Show what changed from the first run to the second."
)
@click.option("--hosts", type=click.Choice([h.value for h in HostsOfRun]), help=_HOSTS)
@click.pass_context
def command(
    ctx: click.Context,
    run: str,
    *,
    output: str | None,
    out: Path | None,
    bundle: Path | None,
    compare: tuple[str, str] | None,
    hosts: str | None,
) -> None:
    """Write RUN as one self-contained HTML page: what failed, racks, and every node with its evidence on demand.

    RUN is a run's id, a unique prefix of it, or `last`. Prints the path of the page. With `-o ocptv`, writes gate results and findings of
    RUN as OCP Test & Validation 2.0 output, a test run for each node.
    """
    from clusterctl.adapters.run_directory import given_output  # noqa: PLC0415
    from clusterctl.adapters.store import Store  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.commands import report_outputs, report_printed  # noqa: PLC0415
    from clusterctl.workflows.collect_report import chosen_run  # noqa: PLC0415

    named = ctx.get_parameter_source("run") is not ParameterSource.DEFAULT
    if hosts and (out or output or bundle or compare):
        raise UsageProblemError(detail="--hosts prints names", hint="leave out -o, --out, --bundle and --compare")
    if compare and (out or bundle or named or output in _PAGES):
        raise UsageProblemError(detail="--compare prints a table or a document", hint="leave out RUN, --out and --bundle; -o json or yaml")
    if not compare and output in FORMATS:
        raise UsageProblemError(detail=f"-o {output} is for --compare", hint=f"one of: {', '.join(_PAGES)}")
    if bundle and (out or output):
        raise UsageProblemError(detail="--bundle has the page and a name of its own", hint="leave out -o and --out")
    report_outputs.check_folders({"--out": out, "--bundle": bundle})
    with Store.open_to_read(load_config(ctx, gates=False).store_url) as store, given_output(bundle or out):
        if compare:
            report_printed.print_comparison(store, *compare, output=output or "table")
        elif bundle:
            report_outputs.write_bundle(store, chosen_run(store, run), bundle)
        elif hosts:
            report_printed.print_hosts(store, chosen_run(store, run), HostsOfRun(hosts))
        elif output == "ocptv":
            report_outputs.write_test_runs(store, chosen_run(store, run), out)
        else:
            report_outputs.write_page(store, chosen_run(store, run), out)
