"""`clusterctl plan TARGET`: what provisioning would change; changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from clusterctl.commands.options import inventory_option, limit_option, load_config, output_option, target_argument, vault_option
from clusterctl.render import findings as progress_view
from clusterctl.render import plan as view

if TYPE_CHECKING:
    from clusterctl.config import Config
    from clusterctl.node import Node


@click.command("plan")
@target_argument
@inventory_option
@limit_option
@vault_option
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Also write the plan as JSON.")
@click.option("--ansible", is_flag=True, help="Ask Ansible's check mode (slower: minutes) instead of the validators.")
@output_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    target: str,
    inventory: tuple[str, ...],
    limit: str | None,
    vault_ids: tuple[str, ...],
    out: Path | None,
    ansible: bool,
    output: str,
) -> int:
    """Show what provisioning would change on the nodes of TARGET.

    Exits with 0 if nothing is to be changed, 8 if something is, 4 if a node was not reached, 6 if a check could not run.
    """
    from clusterctl.spec.load import load_nodes  # noqa: PLC0415 `--help` must not pay for it

    config = load_config(ctx, inventory)
    nodes = load_nodes(config.inventory, target, limit=limit, vault_ids=vault_ids)
    return (_by_ansible if ansible else _by_findings)(config, target, nodes, out, output)


def _by_findings(config: Config, target: str, nodes: tuple[Node, ...], out: Path | None, output: str) -> int:
    from clusterctl.plan import make_plan, plan_exit_code, to_json  # noqa: PLC0415
    from clusterctl.validation import Settings  # noqa: PLC0415
    from clusterctl.validation.recorded import read_only_run, validate_recorded  # noqa: PLC0415

    with read_only_run("plan", target, nodes, config) as run:
        results = validate_recorded(run, nodes, config, Settings(), progress_view.progress(len(nodes)))
        plan = make_plan(results)
        run.code = plan_exit_code(plan, results)
        body = {"run_id": run.rundir.id, "target": target, **to_json(plan, {n.name: n.spec.digest for n in nodes})}
        run.rundir.write_json("plan.json", body)
    view.save(body, "plan", out)
    view.show(plan, body, output)
    return int(run.code)


def _by_ansible(config: Config, target: str, nodes: tuple[Node, ...], out: Path | None, output: str) -> int:
    from clusterctl import check_mode  # noqa: PLC0415
    from clusterctl.runner import PlaybookRequest, run_playbook  # noqa: PLC0415
    from clusterctl.validation.recorded import read_only_run  # noqa: PLC0415

    found = check_mode.CheckMode()
    with read_only_run("plan", target, nodes, config) as run:
        asked = PlaybookRequest("provision.yml", config.inventory, tuple(n.name for n in nodes), check=True, diff=True)
        outcome = run_playbook(asked, run.rundir.path_for("ansible/log").parent, found.add)
        run.code = check_mode.exit_code(found, outcome)
        body = {"run_id": run.rundir.id, "target": target, **check_mode.to_json(found, outcome)}
        run.rundir.write_json("plan.json", body)
    view.save(body, "plan_ansible", out)
    view.show_check_mode(found, outcome, body, output)
    return int(run.code)
