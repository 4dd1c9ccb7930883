"""A virtual rack for trials and tests without hardware."""

from __future__ import annotations

import rich_click as click
from click.shell_completion import CompletionItem

from clusterctl.adapters.inventory.declared_names import declared_names
from clusterctl.commands import complete
from clusterctl.commands.options import load_config, output_option
from clusterctl.model.errors import UsageProblemError
from clusterctl.model.running_text import counted
from clusterctl.terminal import messages, out
from clusterctl_lab import fault_injection, faults, ghosts, image, node_hardware, rack, resolve_command
from clusterctl_lab import view as show
from clusterctl_lab.layout import DEFAULT_NODES, LabPaths, lab_rack


def _paths(ctx: click.Context) -> LabPaths:
    return LabPaths(load_config(ctx, gates=False).state_dir / "lab")


@complete.silent
def _nodes(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The nodes that were started."""
    hosts = LabPaths(complete.site(ctx).state_dir / "lab").hosts_dir
    return complete.matching(sorted(declared_names([hosts])[1]), incomplete)


@complete.silent
def _racks(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The racks that were started."""
    groups = declared_names([LabPaths(complete.site(ctx).state_dir / "lab").hosts_dir])[0]
    return complete.matching(sorted(g for g in groups if g.startswith("rack_")), incomplete)


@complete.silent
def _faults(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The catalogue, with what each fault does."""
    return [CompletionItem(k.name, help=k.summary) for k in faults.fault_catalogue().values() if k.name.startswith(incomplete)]


@click.group("lab")
def command() -> None:
    """A virtual rack: real systemd, SSH, apt and Redfish; simulated GPUs, HCAs and kernel settings."""


command.add_command(resolve_command.command)


@command.command("image")
def image_() -> None:
    """Build the node image if it is missing, and print its name."""
    out.print_text(image.ensure_image(messages.note))


@command.command()
@click.argument("target", shell_complete=_racks)
@click.option("--nodes", default=DEFAULT_NODES, show_default=True, help="Number of nodes.")
@click.option(
    "--hardware", type=click.Choice(node_hardware.NAMES), default=node_hardware.DEFAULT, show_default=True, help="Hardware to simulate."
)
@click.option("--healthy", is_flag=True, help="Start without the degraded HCA that the fourth node has by default.")
@click.option(
    "--fresh-installer",
    is_flag=True,
    help="New nodes are as an installer leaves them: other kernel, network first, busy apt, firewall, DHCP.",
)
@click.option("--real-time", is_flag=True, help="Tools of new nodes take as long as real ones, where that is published.")
@click.option(
    "--time-factor",
    type=click.FloatRange(0, min_open=True),
    default=1.0,
    show_default=True,
    help="Scale of all times of --real-time: 0.1 is ten times as fast.",
)
@click.pass_context
def up(
    ctx: click.Context,
    *,
    target: str,
    nodes: int,
    hardware: str,
    healthy: bool,
    fresh_installer: bool,
    real_time: bool,
    time_factor: float,
) -> None:
    """Start the nodes of TARGET (`rack-12`); running nodes are left as they are."""
    if time_factor != 1 and not real_time:
        raise UsageProblemError(detail="--time-factor scales the times of --real-time, which is not given", hint="add --real-time")
    factor = time_factor if real_time else 0
    paths = _paths(ctx)
    started = rack.up(
        paths, lab_rack(target, nodes), messages.note, healthy=healthy, hardware=hardware, real_time=factor, fresh=fresh_installer
    )
    messages.note(f"{target}: {len(started)} of {nodes} nodes started; all hardware values and measurements are simulated")
    if paths.hosts_dir.resolve() not in {layer.resolve() for layer in load_config(ctx, gates=False).inventory}:
        messages.note(
            f'this site does not use these nodes: its inventory needs the layers "@lab" and {paths.hosts_dir}; `clusterctl init DIR --lab` writes such a site'
        )


@command.command()
@click.argument("target", shell_complete=_racks)
@click.pass_context
def down(ctx: click.Context, target: str) -> None:
    """Remove the nodes of TARGET, their network and their BMCs; they leave the pool, and nothing of them is proven any more."""
    paths = _paths(ctx)
    removed = rack.down(paths, lab_rack(target))
    messages.note(
        f"{target}: {counted(len(removed), 'node')} removed" if removed else f"{target}: no node of it is in the lab of {paths.root.parent}"
    )
    if text := ghosts.without_ghosts(load_config(ctx, gates=False), removed):
        messages.note(f"{target}: {text}")


@command.command()
@click.argument("target", required=False, shell_complete=_racks)
@output_option
@click.pass_context
def status(ctx: click.Context, target: str | None, output: str) -> None:
    """Show the nodes of this lab, or of TARGET, with their faults."""
    paths = _paths(ctx)
    nodes = rack.status(paths, lab_rack(target) if target else None)
    if not nodes:
        lab = f"the lab of {paths.root.parent}"
        messages.note(f"{target}: no node of it is in {lab}" if target else f"{lab} has no nodes; `clusterctl lab up rack-12` starts some")
    show.show_status(nodes, output)


@command.command()
@click.argument("node", required=False, shell_complete=_nodes)
@click.argument("fault", required=False, shell_complete=_faults)
@click.option("--device", default="", help="HCA (mlx5_0, mlx5_1, ...) or GPU index.  [default: see --list]")
@click.option("--option", default="", help="Option of the fault, see --list.")
@click.option("--clear", is_flag=True, help="Clear FAULT, or all faults if none is named.")
@click.option("--list", "list_", is_flag=True, help="List the faults.")
@click.pass_context
def fault(ctx: click.Context, *, node: str | None, fault: str | None, device: str, option: str, clear: bool, list_: bool) -> None:
    """Inject FAULT into NODE, or clear it; takes effect immediately."""
    if list_:
        show.show_fault_catalogue(list(faults.fault_catalogue().values()))
        return
    if not node or not (fault or clear):
        raise UsageProblemError(detail="name a node and a fault", hint="`clusterctl lab fault --list` shows the faults")
    if clear and (option or (device and not fault)):
        raise UsageProblemError(
            detail="--clear takes no --option, and --device only with the name of a fault",
            hint=f"`clusterctl lab fault {node} --clear` clears all faults of the node",
        )
    if clear:
        taken = fault_injection.clear_faults(_paths(ctx), node, fault or "", device)
        messages.note(f"{node}: cleared {', '.join(map(show.fault_text, taken)) or 'nothing'}")
        return
    messages.note(f"{node}: {show.fault_text(fault_injection.inject_fault(_paths(ctx), node, fault or '', device, option))}")
