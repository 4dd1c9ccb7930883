"""Topology files for schedulers on stdout, as they are written to disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from clusterctl.core.scheduler_topology import kubernetes_labels, slurm_block, slurm_tree, slurm_yaml
from clusterctl.model.errors import ConfigError
from clusterctl.terminal import out

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clusterctl.model.topology import Host


def _yaml(data: object) -> str:
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True).rstrip("\n")


FORMATS: dict[str, Callable[[Sequence[Host]], str]] = {
    "slurm-tree": slurm_tree,
    "slurm-block": slurm_block,
    "slurm-yaml": lambda hosts: _yaml(slurm_yaml(hosts)),
    "kubernetes": lambda hosts: _yaml(kubernetes_labels(hosts)),
}


def show_topology(target: str, hosts: Sequence[Host], kind: str) -> None:
    """Print it, by rack and slot.

    Raises:
        ConfigError: there is no node, the inventory contradicts itself, or the format cannot express it.
    """
    if not hosts:
        raise ConfigError(detail=f"no node matches {target!r}: a scheduler would lose its topology", hint="list the nodes in the inventory")
    out.print_text(FORMATS[kind](sorted(hosts, key=lambda h: (h.place.rack, h.place.slot, h.name))))
