"""The variables that Ansible on the nodes themselves gets, secrets included: read when these nodes are about to be changed, and kept nowhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.ansible.content import content_dir
from clusterctl.adapters.inventory.layers import check_layers
from clusterctl.adapters.inventory.wire import Operation, WorkerRequest
from clusterctl.adapters.inventory.worker import query_worker

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

# each name of a pattern costs a search
_NAMED_AT_MOST = 64


@dataclass(slots=True)
class SentVariables:
    """What Ansible on some nodes gets.

    Attributes:
        of_node: node -> an inventory with it and its groups alone; empty for a node with a problem.
        problems: node -> why it cannot have its variables.
        extra: the extra variables, for all nodes.
    """

    of_node: dict[str, dict[str, Any]] = field(default_factory=dict, repr=False)
    problems: dict[str, str] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict, repr=False)

    def add(self, other: SentVariables) -> None:
        """Add those of further nodes."""
        self.of_node |= other.of_node
        self.problems |= other.problems
        self.extra |= other.extra


def load_sent_variables(
    layers: Sequence[Path], nodes: Sequence[str], extra_vars: Sequence[str] = (), vault_ids: Sequence[str] = ()
) -> SentVariables:
    """The variables of `nodes`.

    Raises:
        UnknownTargetError: a node is not in the inventory.
        ConfigError: a layer cannot be used.
    """
    request = WorkerRequest(
        operation=Operation.SENT,
        layers=check_layers(layers),
        content=str(content_dir().resolve()),
        target=",".join(nodes) if len(nodes) <= _NAMED_AT_MOST else "all",
        extra_vars=tuple(extra_vars),
        vault_ids=tuple(vault_ids),
    )
    answer, wanted = query_worker(request), frozenset(nodes)
    found = [entry for entry in answer["sent"] if entry["node"] in wanted]
    return SentVariables(
        {entry["node"]: _inventory(entry) for entry in found},
        {entry["node"]: entry["problem"] for entry in found if entry["problem"]},
        dict(answer["extra"]),
    )


def _inventory(entry: Mapping[str, Any]) -> dict[str, Any]:
    if entry["problem"]:
        return {}
    name = entry["node"]
    groups = {group: {"hosts": {name: None}} for group in entry["groups"]}
    return {"all": {"hosts": {name: entry["values"]}, "children": groups}}
