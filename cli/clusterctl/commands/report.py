"""`clusterctl report`: write the HTML page of a run."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

from clusterctl.commands import complete
from clusterctl.commands.options import load_config
from clusterctl.model.errors import ConfigError


@click.command("report")
@click.argument("run", default="last", shell_complete=complete.runs)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Output file.  [default: report.html in the run directory]")
@click.pass_context
def command(ctx: click.Context, run: str, out: Path | None) -> None:
    """Write RUN as one self-contained HTML page: what failed, racks, and every node with its evidence on demand.

    RUN is a run's id, a unique prefix of it, or `last`. Prints the path of the page.
    """
    from clusterctl.adapters.run_directory import write_atomically  # noqa: PLC0415
    from clusterctl.adapters.store import Store  # noqa: PLC0415
    from clusterctl.report.page import render_page  # noqa: PLC0415
    from clusterctl.terminal.out import print_text  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.workflows.collect_report import chosen_run, collect  # noqa: PLC0415

    with Store.open_to_read(load_config(ctx, gates=False).store_url) as store:
        row = chosen_run(store, run)
        path = (out or Path(row.directory) / "report.html").absolute()
        page = collect(store, row, path.parent)
    if not path.parent.is_dir():
        raise ConfigError(detail=f"{path.parent} is no directory", hint="choose another file for --out")
    write_atomically(path, render_page(page))
    print_text(str(path))
