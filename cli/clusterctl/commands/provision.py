"""`clusterctl provision TARGET`: apply, verify, burn in, admit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich_click as click

from clusterctl.commands.options import load_config
from clusterctl.commands.provision_given import options_of, refuse_nonsense
from clusterctl.commands.provision_options import WithAnsibleArgs, ansible_args, provision_options
from clusterctl.model.exit_codes import ExitCode

if TYPE_CHECKING:
    from clusterctl.model.plan import Plan


@click.command("provision", cls=WithAnsibleArgs)
@provision_options
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> int:
    """Bring the nodes of TARGET into their declared state, verify it, burn them in, and admit those that pass.

    Admitted nodes that are as declared are left alone. Nodes that fail are quarantined with the reason; the others continue.
    Only roles with a failing check are applied. Arguments after `--` go to ansible-playbook.
    """
    from clusterctl.adapters.plan_file import read_plan  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.adapters.site_content import role_dirs  # noqa: PLC0415
    from clusterctl.core.plan import plan_exit_code  # noqa: PLC0415
    from clusterctl.terminal import live, summary  # noqa: PLC0415
    from clusterctl.workflows.provision import start  # noqa: PLC0415
    from clusterctl.workflows.provision.request import ProgressListener, ProvisionRequest  # noqa: PLC0415

    if given["cancel"]:
        from clusterctl.commands.queue_racks import cancel_order  # noqa: PLC0415

        return cancel_order(ctx, given)
    refuse_nonsense(given)
    config = load_config(ctx, given["inventory"], gates=True)
    saved_plan = read_plan(given["plan_file"]) if given["plan_file"] else None
    target = given["target"] or (saved_plan.target if saved_plan else "")
    words = (given["limit"], given["vault_ids"], given["resume"])
    request = ProvisionRequest(target, options_of(given, ansible_args(ctx)), *words, saved_plan)
    if given["queue"]:
        from clusterctl.commands.queue_racks import queue_racks  # noqa: PLC0415

        return queue_racks(config, request, given)
    with live.view(live.task_counts(role_dirs())) as view:

        def confirm(plan: Plan) -> bool:
            view.pause()
            summary.show_provision_plan(plan)
            return bool(given["yes"]) or click.confirm("Proceed?", err=True)

        listener = ProgressListener(view, view.output, confirm)
        if given["check"]:
            plan = start.plan_provision(config, request, listener)
            view.pause()
            summary.show_provision_plan(plan, given["output"])
            return plan_exit_code(plan)
        result = start.run_provision(config, request, listener)
    summary.show_summary(result, given["output"])
    return ExitCode.CHANGES_PENDING if result.declined else result.exit_code
