"""`clusterctl history`: what happened to one node, who did it, and what it stands on; which serials failed most; how observed checks did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from clusterctl.commands import complete
from clusterctl.commands import history_lists as lists
from clusterctl.commands.options import load_config, output_option
from clusterctl.model.errors import UsageProblemError

if TYPE_CHECKING:
    from clusterctl.adapters.config import Config

_MOST = 1_000_000


@click.command("history")
@click.argument("node", default="", shell_complete=complete.targets)
@click.option("--limit", type=click.IntRange(1, _MOST), default=50, show_default=True, help="How many runs to list, newest first.")
@click.option(
    "--worst", is_flag=True, help="Which machines and parts failed most, by serial: of NODE (a node, rack or pattern), or of all."
)
@click.option("--observed", is_flag=True, help="What observed checks and gates found, and how often the repeat had another result.")
@click.option("--days", type=click.IntRange(1, 90), default=90, show_default=True, help="With --worst and --observed: of the last N days.")
@click.option("-n", "--count", type=click.IntRange(1, _MOST), default=20, show_default=True, help="With them: how many to list.")
@output_option
@click.pass_context
def command(ctx: click.Context, node: str, *, limit: int, worst: bool, observed: bool, days: int, count: int, output: str) -> None:
    """The story of NODE: every step, every run, its newest findings and gate results, its admissions."""
    config = load_config(ctx, gates=False)
    if observed and (worst or node):
        raise UsageProblemError(detail="--observed is of all nodes, and alone", hint="leave out NODE and --worst")
    if observed:
        lists.list_observed(config, days, count, output)
    elif worst:
        lists.list_worst(config, node, days, count, output)
    elif node:
        _show_story(config, node, limit, output)
    else:
        raise UsageProblemError(detail="no node is named", hint="name one, or add --worst or --observed")


def _show_story(config: Config, node: str, limit: int, output: str) -> None:
    from clusterctl.adapters.store import Store  # noqa: PLC0415
    from clusterctl.core.recorded_target import match  # noqa: PLC0415
    from clusterctl.terminal import history as view  # noqa: PLC0415
    from clusterctl.workflows.node_story import node_story  # noqa: PLC0415

    with Store.open_to_read(config.store_url) as store:
        found = match(store.nodes(), node)
        if len(found) != 1:
            raise UsageProblemError(detail=f"{node} is {len(found)} nodes; history shows one", hint=f"for example {found[0].name}")
        story = node_story(store, found[0], limit)
    view.show_history(story, output)
