"""`clusterctl completion SHELL`: print the completion script."""

from __future__ import annotations

import rich_click as click
from click.shell_completion import get_completion_class

from clusterctl.terminal import out


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of SHELL; `eval "$(clusterctl completion bash)"` switches it on."""
    root = ctx.find_root().command
    script = get_completion_class(shell)
    if script is None:  # pragma: no cover - the choice above lists click's own shells
        raise click.UsageError(f"no completion for {shell}")
    out.print_text(script(root, {}, "clusterctl", "_CLUSTERCTL_COMPLETE").source())
