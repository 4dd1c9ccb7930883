"""`clusterctl status`: where nodes stand, from the record alone; no node is asked."""

from __future__ import annotations

import rich_click as click

from clusterctl.commands.options import load_config, output_option


@click.command("status")
@click.argument("target", default="all")
@output_option
@click.pass_context
def command(ctx: click.Context, target: str, output: str) -> None:
    """Where nodes stand, and why.

    TARGET is a node, a rack, a group, a pattern, a comma list of those, or `all`.
    """
    from clusterctl.render import status as view  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.store import quick  # noqa: PLC0415
    from clusterctl.store.targets import match  # noqa: PLC0415

    url = load_config(ctx).store_url
    found = quick.standing(url)
    if found:
        overview = view.Overview(match(found[0], target), found[1], ())
    else:
        from clusterctl.store import Store  # noqa: PLC0415 SQLAlchemy costs more than all the rest

        with Store.open(url) as store:
            nodes = match(store.nodes(), target)
            dead = tuple(view.Unfinished(r, store.left_behind(r.id)) for r in store.unfinished_runs())
            overview = view.Overview(nodes, store.leases(), dead)
    view.show(overview, output)
