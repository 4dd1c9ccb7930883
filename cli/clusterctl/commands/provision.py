"""`clusterctl provision TARGET`: apply, verify, burn in, admit."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import rich_click as click

from clusterctl.commands.options import load_config
from clusterctl.commands.provision_options import WithAnsibleArgs, ansible_args, provision_options
from clusterctl.errors import UsageProblemError
from clusterctl.exit_codes import ExitCode

if TYPE_CHECKING:
    from clusterctl.provisioning.model import Options, Plan


@click.command("provision", cls=WithAnsibleArgs)
@provision_options
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> int:
    """Bring the nodes of TARGET into their declared state, prove it, burn them in, and admit those that pass.

    Nodes that are as declared and admitted are left alone; nodes that fail are quarantined with the reason, and the others go on.
    Only what a check finds wrong is applied. What comes after `--` goes to ansible-playbook.
    """
    from clusterctl.content import content_dir  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.provisioning import start  # noqa: PLC0415
    from clusterctl.render import live, summary  # noqa: PLC0415

    _refuse_nonsense(given)
    config = load_config(ctx, given["inventory"])
    _hand_on_vault(given)
    request = start.Request(
        given["target"], _options(given, ansible_args(ctx)), given["limit"], given["extra_vars"], given["vault_ids"], given["resume"]
    )
    with live.view(live.task_counts(content_dir() / "roles")) as view:

        def confirm(plan: Plan) -> bool:
            view.pause()
            summary.show_plan(plan)
            return bool(given["yes"]) or click.confirm("Proceed?", err=True)

        audience = start.Audience(view, view.output, confirm)
        if given["check"]:
            plan = start.plan(config, request, audience)
            view.pause()
            summary.show_plan(plan, given["output"])
            return summary.plan_code(plan)
        result = start.run(config, request, audience)
    summary.show(result, given["output"])
    return ExitCode.CHANGES_PENDING if result.declined else result.exit_code


def _refuse_nonsense(given: dict[str, Any]) -> None:
    if not (given["target"] or given["resume"]):
        raise click.UsageError("Missing argument 'TARGET' (or --resume RUN).")
    if not (given["yes"] or given["check"] or sys.stdin.isatty()):
        raise UsageProblemError(detail="stdin is no terminal: nobody can agree to the plan", hint="add --yes (or set CLUSTERCTL_YES=1)")


def _hand_on_vault(given: dict[str, Any]) -> None:
    """Every ansible of this run needs the vault passwords, not only the one that gets the options: use Ansible's own variables."""
    if given["vault_ids"]:
        os.environ["ANSIBLE_VAULT_IDENTITY_LIST"] = ",".join(given["vault_ids"])
    if given["vault_password_file"]:
        os.environ["ANSIBLE_VAULT_PASSWORD_FILE"] = given["vault_password_file"]


def _options(given: dict[str, Any], more: tuple[str, ...]) -> Options:
    from clusterctl.provisioning.model import Options  # noqa: PLC0415

    simple: dict[str, Any] = {k: given[k] for k in ("level", "all_roles", "retest", "forks", "diff")}
    lists: dict[str, Any] = {k: tuple(w.strip() for w in given[k].split(",") if w.strip()) for k in ("roles", "partners")}
    args = (*(w for e in given["extra_vars"] for w in ("-e", e)), *more)
    return Options(**simple, **lists, reboot=not given["no_reboot"], verbosity=given["verbose"], ansible_args=args)
