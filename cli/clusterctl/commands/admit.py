"""`clusterctl admit`: validate nodes, and admit them on the evidence that they have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich_click as click

from clusterctl.commands.options import inventory_option, limit_option, load_config, output_option, target_argument, vault_option
from clusterctl.model.errors import UsageProblemError
from clusterctl.terminal import messages
from clusterctl.terminal.validation_progress import validation_progress

if TYPE_CHECKING:
    from clusterctl.adapters.config import Config


@click.command("admit")
@target_argument
@click.option(
    "--level",
    type=click.Choice(["quick", "standard", "full"]),
    default="standard",
    show_default=True,
    help="Burn-in level the evidence must have.",
)
@click.option(
    "--verify", "only_verify", is_flag=True, help="Admit nothing; check the admission records, signatures and raw files of TARGET."
)
@click.option("--include-drained", is_flag=True, help="Also nodes that a person drained.")
@click.option("--on-record", is_flag=True, help="Contact no node: decide on the last validation that is recorded. Needs --reason.")
@click.option("--reason", default="", metavar="WHY", help="Why the record is enough; it is recorded.")
@inventory_option
@limit_option
@vault_option
@output_option
@click.pass_context
def command(ctx: click.Context, /, target: str, *, only_verify: bool, on_record: bool, reason: str, output: str, **given: Any) -> int:
    """Validate the nodes of TARGET, and admit those that have complete, passing, current evidence; show what the others lack.

    `clusterctl provision` gathers evidence and admits by itself.
    """
    from clusterctl.adapters.store import Store  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.terminal import admissions as view  # noqa: PLC0415
    from clusterctl.workflows import admit_again  # noqa: PLC0415
    from clusterctl.workflows.target_filter import load_target  # noqa: PLC0415

    if on_record and not reason.strip():
        raise UsageProblemError(detail="--on-record needs a reason: nobody looks at the nodes", hint="add --reason WHY, or leave it out")
    config = load_config(ctx, given["inventory"], gates=True)
    if only_verify:
        return _verify(config, target, given["limit"], output)
    nodes = load_target(config, target, messages.note, limit=given["limit"], vault_ids=given["vault_ids"])
    include = bool(given["include_drained"])
    with Store.open(config.store_url) as store:
        store.register_new(nodes)
        admitter = admit_again.admitter_of(config, store)
        candidates = admit_again.candidates_of(store, config.lemon_limits, nodes, given["level"])
        if on_record:
            admissions = admit_again.admit_on_record(admitter, candidates, reason=reason, include_owned=include)
        else:
            with validation_progress(len(nodes)) as listener:
                validate = admit_again.validation(config, store, listener)
                admissions = admit_again.admit_now(admitter, candidates, validate, config.state_dir, target=target, include_owned=include)
    return view.show_admissions(admissions, output)


def _verify(config: Config, target: str, limit: str | None, output: str) -> int:
    from clusterctl.adapters.store import Store  # noqa: PLC0415
    from clusterctl.core.recorded_target import match  # noqa: PLC0415
    from clusterctl.terminal import admissions as view  # noqa: PLC0415
    from clusterctl.workflows.verify_records import verify_admissions  # noqa: PLC0415

    with Store.open_to_read(config.store_url) as store:
        found = match(store.nodes(), target)
        names = [n.name for n in (match(found, limit) if limit else found)]
        return view.show_verified(verify_admissions(store, names, config.state_dir, config.allowed_signers), output)
