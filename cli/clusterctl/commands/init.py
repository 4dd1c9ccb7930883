"""`clusterctl init DIR`: a site folder to start from."""

from __future__ import annotations

import shlex
from pathlib import Path

import rich_click as click

from clusterctl.adapters.inventory.site import write_site
from clusterctl.terminal import messages, out


@click.command("init")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--lab", is_flag=True, help="The nodes of the site are those of the lab.")
def command(folder: Path, *, lab: bool) -> None:
    """Write a site folder: clusterctl.yml and a commented inventory with two example nodes."""
    for file in write_site(folder, lab=lab):
        out.print_text(str(file))
    then = "clusterctl lab up rack-12" if lab else "clusterctl doctor && clusterctl profile check"
    messages.note(f"next: cd {shlex.quote(str(folder))} && {then}")
