"""`clusterctl history`: what happened to one node, who did it, and what it stands on."""

from __future__ import annotations

import rich_click as click

from clusterctl.commands import complete
from clusterctl.commands.options import load_config, output_option


@click.command("history")
@click.argument("node", shell_complete=complete.nodes)
@click.option("--limit", type=click.IntRange(1, 1_000_000), default=50, show_default=True, help="How many runs to list, newest first.")
@output_option
@click.pass_context
def command(ctx: click.Context, node: str, limit: int, output: str) -> None:
    """The story of NODE: every step, every run, its newest findings and gate results, its admissions."""
    from clusterctl.adapters.store import Store  # noqa: PLC0415
    from clusterctl.core.recorded_target import match  # noqa: PLC0415
    from clusterctl.model.errors import UsageProblemError  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.terminal import history as view  # noqa: PLC0415

    with Store.open_to_read(load_config(ctx, gates=False).store_url) as store:
        found = match(store.nodes(), node)
        if len(found) != 1:
            raise UsageProblemError(detail=f"{node} is {len(found)} nodes; history shows one", hint=f"for example {found[0].name}")
        name = found[0].name
        story = view.Story(
            node=found[0],
            transitions=store.history(name),
            runs=store.runs(limit, node=name),
            unfinished=frozenset(r.id for r in store.unfinished_runs()),
            findings=store.findings(name),
            gate_results=store.gate_results(name),
            admissions=store.admissions(name),
            replaced_parts=tuple(r for r in store.parts([name]) if r.ended_run),
        )
    view.show_history(story, output)
