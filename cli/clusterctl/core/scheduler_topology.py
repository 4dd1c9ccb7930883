"""A switch tree in the formats of schedulers. Pure.

Slurm: topology.conf(5) and topology.yaml(5), https://slurm.schedmd.com/topology.html. Kubernetes: the label keys of NVIDIA Topograph 1.0 (docs/engines/k8s.md) and
those of 0.5 and earlier: schedulers read the ones that they are configured to read, and a key that we no longer apply would be taken from the nodes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from clusterctl.core.switch_tree import block_size, hostlist, leaf_of, switch_tree
from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from clusterctl.core.switch_tree import SwitchTree
    from clusterctl.model.topology import Host

_LABELS = {
    "accelerator": ("accelerator.topograph.run/domain", "network.topology.nvidia.com/accelerator"),
    "leaf": ("fabric.topograph.run/tier-0", "network.topology.nvidia.com/leaf"),
    "spine": ("fabric.topograph.run/tier-1", "network.topology.nvidia.com/spine"),
}
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


def slurm_tree(hosts: Sequence[Host]) -> str:
    """topology.conf for topology/tree.

    Raises:
        ConfigError: as `switch_tree`.
    """
    tree = switch_tree(hosts)
    lines = [f"SwitchName={name} Nodes={hostlist(nodes)}" for name, nodes in tree.leaves.items()]
    return "\n".join([*lines, *(f"SwitchName={name} Switches={hostlist(below)}" for name, below in tree.above.items())])


def slurm_block(hosts: Sequence[Host]) -> str:
    """topology.conf for topology/block: a block is an NVLink domain.

    Raises:
        ConfigError: as `switch_tree`; or a node is in no NVLink domain.
    """
    tree = switch_tree(hosts)
    if alone := [h.name for h in hosts if not h.place.nvlink_domain]:
        raise ConfigError(
            detail=f"{alone[0]} is in no NVLink domain, and topology/block needs a block for every node",
            hint="name a target of NVLink racks only, or use the format slurm-yaml, which has both topologies",
        )
    blocks = [f"BlockName={name} Nodes={hostlist(nodes)}" for name, nodes in tree.domains.items()]
    return "\n".join([*blocks, f"BlockSizes={block_size(tree)}"])


def slurm_yaml(hosts: Sequence[Host]) -> list[dict[str, Any]]:
    """topology.yaml (Slurm 25.05): the tree, and the NVLink domains as blocks where there are any.

    Raises:
        ConfigError: as `switch_tree`.
    """
    tree = switch_tree(hosts)
    found: list[dict[str, Any]] = [{"topology": "fabric", "cluster_default": True, "tree": {"switches": list(_switches(tree))}}]
    if tree.domains:
        blocks = [{"block": name, "nodes": hostlist(nodes)} for name, nodes in tree.domains.items()]
        found.append({"topology": "nvlink", "cluster_default": False, "block": {"block_sizes": [block_size(tree)], "blocks": blocks}})
    return found


def kubernetes_labels(hosts: Iterable[Host]) -> dict[str, Any]:
    """A list of Node objects with nothing but labels, for server-side apply.

    Raises:
        ConfigError: a name is not a label value.
    """
    return {"apiVersion": "v1", "kind": "List", "items": [_node(host) for host in hosts]}


def _switches(tree: SwitchTree) -> Iterator[dict[str, str]]:
    for name, below in tree.above.items():
        yield {"switch": name, "children": hostlist(below)}
    for name, nodes in tree.leaves.items():
        yield {"switch": name, "nodes": hostlist(nodes)}


def _node(host: Host) -> dict[str, Any]:
    values = {"accelerator": host.place.nvlink_domain, "leaf": leaf_of(host.place), "spine": host.place.spine}
    for key, value in values.items():
        if value and not _LABEL_VALUE.fullmatch(value):
            raise ConfigError(
                detail=f"{host.name}: {key} {value!r} is not a label value", hint="use letters, digits, '-', '_' and '.', at most 63"
            )
    labels = {label: value for key, value in values.items() if value for label in _LABELS[key]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": host.name, "labels": labels}}
