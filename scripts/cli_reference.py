"""Writes docs/reference/cli.md and exit-codes.md from the commands and the exit codes; `--check` fails if one of them is stale."""

from __future__ import annotations

import sys

import click

from clusterctl.main import cli
from clusterctl.model.exit_codes import MEANINGS, PRECEDENCE, ExitCode
from generated_files import ROOT, write_or_check

REFERENCE = ROOT / "docs" / "reference"
MARK = "<!-- Written by scripts/cli_reference.py. -->"


def main(argv: list[str]) -> int:
    """Write the pages, or report with `--check` which are stale."""
    return write_or_check({REFERENCE / "cli.md": commands(), REFERENCE / "exit-codes.md": exit_codes()}, argv)


def commands() -> str:
    """The text of the page of commands."""
    context = click.Context(cli, info_name="clusterctl")
    lines = [MARK, "", "# Commands", "", "Results go to stdout, progress to stderr. [Exit codes](exit-codes.md) are the same for all.", ""]
    lines += ["An empty word, as of a shell variable that is not set, is refused everywhere before `--`.", ""]
    lines += ["Global options, before the verb:", "", *_options(cli, context)]
    for verb in cli.list_commands(context):
        command = cli.get_command(context, verb)
        if command is not None:
            lines += _command(command, verb, context, depth=2)
    return "\n".join(lines).rstrip() + "\n"


def exit_codes() -> str:
    """The text of the page of exit codes."""
    rows = [f"| {int(code)} | {MEANINGS[code]} |" for code in ExitCode]
    order = ", ".join(str(int(code)) for code in PRECEDENCE)
    return "\n".join(
        [
            MARK,
            "",
            "# Exit codes",
            "",
            "The same for every command. An exit code is never a count.",
            "",
            "| code | meaning |",
            "|---|---|",
            *rows,
            "",
            f"If several apply to one run, the first of these is used: {order}.",
            "",
        ]
    )


def _command(command: click.Command, path: str, parent: click.Context, depth: int) -> list[str]:
    context = click.Context(command, info_name=path.rsplit(" ", 1)[-1], parent=parent)
    usage = " ".join(command.collect_usage_pieces(context))
    lines = ["", f"{'#' * depth} {path}", "", f"    clusterctl {path} {usage}", ""]
    for paragraph in (command.help or "").split("\n\n"):
        lines += [" ".join(paragraph.split()), ""]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                lines += _command(inner, f"{path} {name}", context, depth + 1)
        return lines
    return [*lines, *_options(command, context)]


def _options(command: click.Command, context: click.Context) -> list[str]:
    shown = [p for p in command.get_params(context) if isinstance(p, click.Option) and p.name != "help"]
    records = [p.get_help_record(context) for p in shown]
    rows = [f"| `{names.replace('|', '/')}` | {' '.join(text.split()).replace('|', '/')} |" for names, text in filter(None, records)]
    return ["| option | |", "|---|---|", *rows] if rows else []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
