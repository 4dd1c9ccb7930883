"""The lists of `clusterctl history` that are of the fleet and of no single node."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterctl.adapters.config import Config


def list_worst(config: Config, target: str, days: int, count: int, output: str) -> None:
    """`history --worst`: of the nodes of a target; of all where it is empty."""
    from clusterctl.adapters.store import Store  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.core.recorded_target import match  # noqa: PLC0415
    from clusterctl.terminal.lemons import show_lemons  # noqa: PLC0415
    from clusterctl.workflows.lemons import worst_serials  # noqa: PLC0415

    with Store.open_to_read(config.store_url) as store:
        names = [n.name for n in match(store.nodes(), target)] if target else None
        found = worst_serials(store, config.lemon_limits, names, days=days)
    show_lemons(found, config.lemon_limits, count, output)


def list_observed(config: Config, days: int, count: int, output: str) -> None:
    """`history --observed`."""
    from clusterctl.adapters.store import Store  # noqa: PLC0415
    from clusterctl.terminal import observed as view  # noqa: PLC0415
    from clusterctl.workflows.flake_rates import observed_of  # noqa: PLC0415

    with Store.open_to_read(config.store_url) as store:
        found = observed_of(store, days)
    view.show_observed(found, days, count, output)
