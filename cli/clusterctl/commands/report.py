"""`clusterctl report`: write what a run found, as an HTML page or as OCP Test & Validation output."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from clusterctl.commands import complete
from clusterctl.commands.options import load_config
from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from clusterctl.adapters.store import Store
    from clusterctl.model.records import RunRow

_OUT = "Output file.  [default: report.html in the run directory; with -o ocptv the terminal]. With -o ocptv a folder: a file per node."


@click.command("report")
@click.argument("run", default="last", shell_complete=complete.runs)
@click.option(
    "-o", "--output", type=click.Choice(("html", "ocptv")), default="html", show_default=True, help="One page, or a test run per node."
)
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help=_OUT)
@click.pass_context
def command(ctx: click.Context, run: str, *, output: str, out: Path | None) -> None:
    """Write RUN as one self-contained HTML page: what failed, racks, and every node with its evidence on demand.

    RUN is a run's id, a unique prefix of it, or `last`. Prints the path of the page. With `-o ocptv`, writes gate results and findings of
    RUN as OCP Test & Validation 2.0 output, a test run for each node.
    """
    from clusterctl.adapters.store import Store  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.workflows.collect_report import chosen_run  # noqa: PLC0415

    if out and not out.absolute().parent.is_dir():
        raise ConfigError(detail=f"{out.absolute().parent} is no directory", hint="choose another file for --out")
    if out and out.is_dir() and output == "html":
        raise click.BadParameter(f"File {str(out)!r} is a directory.", param_hint="'--out'")
    with Store.open_to_read(load_config(ctx, gates=False).store_url) as store:
        row = chosen_run(store, run)
        if output == "ocptv":
            _write_test_runs(store, row, out)
        else:
            _write_page(store, row, (out or Path(row.directory) / "report.html").absolute())


def _write_page(store: Store, row: RunRow, path: Path) -> None:
    from clusterctl.adapters.run_directory import write_atomically  # noqa: PLC0415
    from clusterctl.report.page import render_page  # noqa: PLC0415
    from clusterctl.terminal.out import print_text  # noqa: PLC0415
    from clusterctl.workflows.collect_report import collect  # noqa: PLC0415

    write_atomically(path, render_page(collect(store, row, path.parent)))
    print_text(str(path))


def _write_test_runs(store: Store, row: RunRow, out: Path | None) -> None:
    from clusterctl.adapters.run_directory import write_parts_atomically  # noqa: PLC0415
    from clusterctl.report.ocptv_output import output_lines  # noqa: PLC0415
    from clusterctl.terminal.out import print_lines  # noqa: PLC0415
    from clusterctl.workflows.collect_report import collect  # noqa: PLC0415
    from clusterctl.workflows.collect_test_runs import collect_test_runs  # noqa: PLC0415

    report = collect(store, row, Path(row.directory))
    test_runs = collect_test_runs(store, report)
    if out and out.is_dir():
        for one in test_runs:
            write_parts_atomically(out / f"{one.section.name}.jsonl", output_lines(report, one))
        return
    lines = (line for one in test_runs for line in output_lines(report, one))
    if out:
        write_parts_atomically(out, lines)
    else:
        print_lines(lines)
