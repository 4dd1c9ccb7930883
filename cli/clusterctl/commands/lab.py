"""`clusterctl lab`: a rack without hardware."""

from __future__ import annotations

from dataclasses import asdict

import rich_click as click

from clusterctl.commands.options import load_config, output_option
from clusterctl.lab import image, rack
from clusterctl.lab.layout import DEFAULT_NODES, LabPaths, lab_rack
from clusterctl.render import messages, out


def _paths(ctx: click.Context) -> LabPaths:
    return LabPaths(load_config(ctx).state_dir / "lab")


@click.group("lab")
def command() -> None:
    """A virtual rack: real systemd, SSH, apt and Redfish; simulated GPUs, HCAs and kernel settings."""


@command.command("image")
def image_() -> None:
    """Build the node image if it is not there; prints its name."""
    out.text(image.ensure_image(messages.note))


@command.command()
@click.argument("target")
@click.option("--nodes", default=DEFAULT_NODES, show_default=True, help="How many nodes.")
@click.pass_context
def up(ctx: click.Context, target: str, nodes: int) -> None:
    """Start the nodes of TARGET (`rack-12`); running ones stay as they are."""
    started = rack.up(_paths(ctx), lab_rack(target, nodes), messages.note)
    messages.note(f"{target}: {len(started)} of {nodes} nodes started, every number they show is simulated")


@command.command()
@click.argument("target")
@click.pass_context
def down(ctx: click.Context, target: str) -> None:
    """Remove the nodes of TARGET with their network and BMCs."""
    removed = rack.down(_paths(ctx), lab_rack(target))
    messages.note(f"{target}: {len(removed)} nodes removed")


@command.command()
@output_option
@click.pass_context
def status(ctx: click.Context, output: str) -> None:
    """The nodes of this lab."""
    nodes = rack.status(_paths(ctx))
    if output != "table":
        out.emit(output, "lab-status", {"simulated": True, "nodes": [asdict(n) for n in nodes]})
        return
    rows = [(n.name, "running" if n.running else "stopped", n.address, n.bmc_url) for n in nodes]
    out.table(("NODE", "STATE", "ADDRESS", "BMC"), rows)
