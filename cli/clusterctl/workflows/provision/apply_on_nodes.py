"""The service that runs playbooks on the nodes themselves, as the site has configured it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clusterctl.adapters.inventory.sent_variables import SentVariables, load_sent_variables
from clusterctl.adapters.on_node.archive import MIN_PYTHON
from clusterctl.adapters.on_node.controller_roles import controller_needs, playbook_order
from clusterctl.adapters.on_node.run_on_nodes import run_on_nodes
from clusterctl.core.where_ansible_runs import node_problem, run_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from clusterctl.adapters.ansible.playbook_request import PlaybookRequest
    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.node import Node
    from clusterctl.model.playbook_result import PlaybookResult
    from clusterctl.model.task_event import TaskEvent

# permits what may be written only to nodes without jobs (BIOS settings take effect at the next reset, whatever causes it)
OUT_OF_POOL_VARIABLE = "provision_out_of_pool=true"


@dataclass(frozen=True, slots=True)
class ApplyOnNodes:
    """Runs playbooks on the nodes.

    Attributes:
        ansible_args: Ansible's own options of this run; `extra_vars` are the values of `-e` among them.
        holder: operator and run, for whoever finds a node occupied.
    """

    state_dir: Path
    holder: str
    inventory: tuple[Path, ...] = ()
    vault_ids: tuple[str, ...] = ()
    ansible_args: tuple[str, ...] = ()
    extra_vars: tuple[str, ...] = ()
    on_output: Callable[[str], None] | None = None
    order: tuple[str, ...] = field(default_factory=playbook_order)
    _read: SentVariables = field(default_factory=SentVariables, repr=False)

    def problems(self, nodes: Sequence[Node], findings: Mapping[str, NodeFindings]) -> Mapping[str, str]:
        """Node -> why it cannot run Ansible itself; empty if it can."""
        whole = run_problem(self.ansible_args, self.extra_vars, os.environ)
        return {n.name: whole or node_problem(n, findings[n.name].python if n.name in findings else "", MIN_PYTHON) for n in nodes}

    def from_controller(self, roles: Sequence[str], node: Node) -> frozenset[str]:
        """Those of `roles` that work from the controller on this node."""
        needs = controller_needs(roles)
        return frozenset(r for r in roles if r in needs and needs[r].applies(node.spec.roles.get(r, {})))

    def play(
        self,
        request: PlaybookRequest,
        nodes: Sequence[Node],
        artifacts: Path,
        on_event: Callable[[TaskEvent], None],
        cancelled: Callable[[], bool],
    ) -> tuple[PlaybookResult, Mapping[str, str]]:
        """Run a playbook; also the nodes where it could not run, with the reason."""
        found = run_on_nodes(
            request,
            nodes,
            artifacts,
            self.state_dir,
            self._variables(nodes),
            holder=self.holder,
            on_event=on_event,
            cancelled=cancelled,
            on_output=self.on_output,
        )
        return found.result, found.unsuited

    def _variables(self, nodes: Sequence[Node]) -> SentVariables:
        """Read once for all parts of a run; secrets stay in memory for as long as the run."""
        missing = [n.name for n in nodes if n.name not in self._read.of_node]
        if missing:
            self._read.add(load_sent_variables(self.inventory, missing, (*self.extra_vars, OUT_OF_POOL_VARIABLE), self.vault_ids))
        return self._read
