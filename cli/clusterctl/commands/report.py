"""`clusterctl report`: write what a run found, as an HTML page, as OCP Test & Validation output, or with its evidence in one archive."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

from clusterctl.commands import complete
from clusterctl.commands.options import load_config
from clusterctl.model.errors import ConfigError, UsageProblemError

_OUT = "Output file.  [default: report.html in the run directory; with -o ocptv the terminal]. With -o ocptv a folder: a file per node."
_FILE = click.Path(path_type=Path)


@click.command("report")
@click.argument("run", default="last", shell_complete=complete.runs)
@click.option(
    "-o", "--output", type=click.Choice(("html", "ocptv")), default="html", show_default=True, help="One page, or a test run per node."
)
@click.option("--out", type=_FILE, metavar="FILE", help=_OUT)
@click.option(
    "--bundle", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write page and evidence as one .tar.gz instead."
)
@click.pass_context
def command(ctx: click.Context, run: str, *, output: str, out: Path | None, bundle: Path | None) -> None:
    """Write RUN as one self-contained HTML page: what failed, racks, and every node with its evidence on demand.

    RUN is a run's id, a unique prefix of it, or `last`. Prints the path of the page. With `-o ocptv`, writes gate results and findings of
    RUN as OCP Test & Validation 2.0 output, a test run for each node.
    """
    from clusterctl.adapters.store import Store  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.commands import report_files  # noqa: PLC0415
    from clusterctl.workflows.collect_report import chosen_run  # noqa: PLC0415

    if bundle and (out or output != "html"):
        raise UsageProblemError(detail="--bundle has the page and a name of its own", hint="leave out -o and --out")
    for option, path in (("--out", out), ("--bundle", bundle)):
        if path and not path.absolute().parent.is_dir():
            raise ConfigError(detail=f"{path.absolute().parent} is no directory", hint=f"choose another file for {option}")
    with Store.open_to_read(load_config(ctx, gates=False).store_url) as store:
        row = chosen_run(store, run)
        if bundle:
            report_files.write_bundle(store, row, bundle)
        elif output == "ocptv":
            report_files.write_test_runs(store, row, out)
        else:
            report_files.write_page(store, row, out)
