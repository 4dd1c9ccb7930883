"""The command line: lazy commands, and the one boundary that turns errors into text and an exit code."""

from __future__ import annotations

import importlib
import re
import sys
from itertools import pairwise
from typing import TYPE_CHECKING

import click
from click import exceptions

from clusterctl.commands import extra_verbs
from clusterctl.commands.refused_paths import path_refused
from clusterctl.model.errors import ClusterctlError, InterruptedRunError, OutputLostError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.terminal import messages
from clusterctl.terminal.streams import keep_streams

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

VERBS: dict[str, str] = {
    "init": "Write a site folder to start from.",
    "doctor": "Check this machine and the site's configuration.",
    "inventory": "List racks and nodes.",
    "topology": "Print switches and NVLink domains for schedulers.",
    "profile": "Show or check the declared state of nodes.",
    "plan": "Show what provisioning would change.",
    "provision": "Apply, verify, burn in, admit.",
    "worker": "Take racks from the queue of `provision --queue`.",
    "drift": "Validate again and report what changed.",
    "validate": "Compare nodes with their declared state.",
    "burnin": "Measure and judge: DCGM, RDMA pairs, NCCL.",
    "judge": "Judge a stored run again, offline.",
    "baseline": "Show floors beside what nodes measured; learn floors.",
    "parse": "Print the samples in a tool's output.",
    "admit": "Admit nodes that have complete, passing evidence.",
    "drain": "Take nodes out of the pool.",
    "announce": "Announce planned maintenance; move it, cancel it, list it.",
    "breaker": "Show what may leave the pool now; reset the circuit breaker.",
    "power": "Switch drained nodes on and off by their BMCs.",
    "bmc": "Show the log, sensors, protocols and console of BMCs.",
    "logs": "Show the kernel log or the journal of nodes.",
    "release": "Return a quarantined or drained node to `registered`.",
    "forget": "Delete nodes from the record.",
    "status": "Show the state of nodes.",
    "history": "Show the history of one node.",
    "report": "Write the HTML page of a run.",
    "serve": "Show the record in a browser and over a JSON API; it only reads.",
    "events": "Send what happened to webhooks and commands.",
    "completion": "Print the shell completion script.",
}

_WITHOUT_VALUE = re.compile(r"--[a-z-]+=")


class LazyGroup(click.Group):
    """Imports a verb's module only when that verb is used, so that `--help` stays fast.

    Installed packages add verbs by the entry point group `clusterctl.commands`.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The verbs in the order of a node's lifecycle, then those of other packages."""
        return [*VERBS, *sorted(extra_verbs.offered())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a verb; in the listing, a light stand-in that has its help line."""
        if cmd_name not in VERBS:
            return extra_verbs.stand_in(cmd_name) if ctx.meta.get("clusterctl.listing") else extra_verbs.load_verb(cmd_name)
        if ctx.meta.get("clusterctl.listing"):
            return click.Command(name=cmd_name, help=VERBS[cmd_name])
        module = importlib.import_module(f"clusterctl.commands.{cmd_name}")
        command: click.Command = module.command
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The verbs, without importing them."""
        ctx.meta["clusterctl.listing"] = True
        return super().shell_complete(ctx, incomplete)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, but no word may be empty, as an unset variable of a shell is: an empty path is the working directory, and an empty filter leaves nothing out."""
        ours = args[: args.index("--")] if "--" in args else args
        for before, word in pairwise(["clusterctl", *ours]):
            if not ctx.resilient_parsing and (not word or _WITHOUT_VALUE.fullmatch(word)):
                what = f"the value of {word.rstrip('=')}" if word else f"the word after {before}"
                raise exceptions.UsageError(f"{what} is empty: a variable that is not set?", ctx)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does; the error of an unknown verb names the option of that name (`version`), or the nearest verbs."""
        try:
            return super().resolve_command(ctx, args)
        except exceptions.UsageError as e:
            from difflib import get_close_matches  # noqa: PLC0415 only a mistyped word pays for it

            options = [o for p in self.get_params(ctx) for o in p.opts if o == f"--{args[0]}"]
            near = options or get_close_matches(args[0], self.list_commands(ctx))
            if not near:
                raise
            raise exceptions.UsageError(f"{e.message.rstrip('.')}; did you mean {' or '.join(near)}?", ctx) from e

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The help from the table above, in plain text: importing rich or a verb would cost more than everything else."""
        ctx.meta["clusterctl.listing"] = True
        super().format_help(ctx, formatter)


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from importlib.metadata import version  # noqa: PLC0415 slow to import, and only here

        click.echo(f"clusterctl {version('clusterctl')}, ansible-core {version('ansible-core')}, Python {sys.version.split()[0]}")
        ctx.exit()


def _folders(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem  # noqa: PLC0415 only a TAB pays for it

    return [CompletionItem(incomplete, type="dir")]


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, envvar="CLUSTERCTL_DEBUG", help="Show tracebacks.")
@click.option(
    "--state-dir", metavar="DIR", help="Folder of database, runs and lab.  [default: from clusterctl.yml]", shell_complete=_folders
)
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show versions and exit.")
@click.pass_context
def cli(ctx: click.Context, debug: bool, state_dir: str | None) -> None:
    """Bring racks of bare-metal GPU nodes into service: apply, verify, burn in, admit.

    TARGET is a rack, a group, a node, a range as r12-n[01-18], or any Ansible host pattern.
    """
    ctx.obj = {"debug": debug, "state_dir": state_dir}


def call(argv: list[str]) -> int:
    """Run a command line and return its exit code; errors become text on stderr."""
    debug = "--debug" in argv
    try:
        result = cli.main(args=argv, prog_name="clusterctl", standalone_mode=False)
    except (exceptions.Abort, KeyboardInterrupt):
        return _report(InterruptedRunError(detail="Ctrl-C", hint="run the same command again; it continues where it stopped"), debug)
    except click.ClickException as e:
        e.show()
        return int(ExitCode.USAGE)
    except ClusterctlError as e:
        return _report(e, debug)
    except Exception as e:
        refused = path_refused(e)
        if refused is not None:
            return _report(refused, debug)
        if debug:
            raise
        messages.unexpected(e)
        return int(ExitCode.UNEXPECTED)
    return int(result) if isinstance(result, int) else int(ExitCode.OK)


def _report(error: ClusterctlError, debug: bool) -> int:
    if debug:
        messages.traceback(error)
    messages.error(error)
    return int(error.exit_code)


def run() -> None:
    """The console script: the one place that exits.

    A reader that stops early (`| head`) changes nothing. Where output is lost otherwise, a success becomes 1.
    """
    stdout = keep_streams()
    code = call(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    if stdout.problem is not None and not isinstance(stdout.problem, BrokenPipeError):
        messages.error(OutputLostError(detail=stdout.problem.strerror))
        code = code or int(ExitCode.UNEXPECTED)
    sys.exit(code)


if __name__ == "__main__":
    run()
