"""`clusterctl parse TOOL FILE`: the samples in a tool's output."""

from __future__ import annotations

import sys
from pathlib import Path

import rich_click as click

from clusterctl.adapters.given_file import read_given
from clusterctl.commands import complete
from clusterctl.commands.options import output_option
from clusterctl.model.errors import ConfigError, UsageProblemError


@click.command("parse")
@click.argument("tool", required=False, shell_complete=complete.tools)
@click.argument("file", required=False, shell_complete=complete.files)
@click.option("--list", "list_tools", is_flag=True, help="List the tools that can be read.")
@output_option
def command(tool: str | None, file: str | None, list_tools: bool, output: str) -> int:
    """Print the samples in FILE, the output of TOOL; `-` reads standard input.

    Exits with 3 if FILE cannot be read or is not a complete output of TOOL.
    """
    from clusterctl.core.parsers import ALIASES, TOOLS, known_tool, parse_output  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.terminal import samples as view  # noqa: PLC0415

    if list_tools:
        view.show_tools(TOOLS, ALIASES, output)
        return 0
    if tool is None:
        raise UsageProblemError(detail="no tool is named", hint=f"known tools: {', '.join(TOOLS)}")
    name = known_tool(tool)
    if file is None:
        raise UsageProblemError(detail="no file is named", hint=f"`clusterctl parse {name} FILE`, or `-` for standard input")
    view.show_samples(name, file, parse_output(name, _read(file)), output)
    return 0


def _read(file: str) -> str:
    try:
        data = sys.stdin.buffer.read() if file == "-" else read_given(Path(file))
    except OSError as e:
        raise ConfigError(detail=f"{file}: {e.strerror}", hint="name a readable file, or `-` for standard input") from e
    return data.decode("utf-8", "replace")
