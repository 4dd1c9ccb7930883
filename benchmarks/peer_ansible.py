"""`ansible-playbook --check` with the roles of the nodes: tuned, with Ansible's defaults, and with Mitogen."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from cpu_cost import CannotMeasureError, FinishedCommand
from peer_cost import PeerCost, cost_per_node

if TYPE_CHECKING:
    from lab_site import Lab

PLAYBOOK = Path(__file__).resolve().parents[1] / "playbooks" / "provision.yml"
# The role bios queries BMCs, which replaying nodes do not have.
SKIPPED = ("--skip-tags", "bios")
_RECAP = re.compile(r"^(\S+)\s+: ok=(\d+)\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)\s+skipped=(\d+)", re.MULTILINE)


def tasks_per_node(ran: FinishedCommand, names: tuple[str, ...]) -> int:
    """The number of tasks per node, run or skipped by a condition.

    Raises:
        CannotMeasureError: a node is missing or failed, or a task would change it, so that the work is not comparable.
    """
    recap = {m[1]: [int(n) for n in m.groups()[1:]] for m in _RECAP.finditer(ran.out)}
    if set(recap) != set(names):
        raise CannotMeasureError(f"the recap has {sorted(recap)}, not {sorted(names)}: {ran.output[-500:]}")
    if any(sum(row[1:4]) for row in recap.values()):
        raise CannotMeasureError(f"the nodes are not in their declared state: {recap}")
    counts = {row[0] + row[4] for row in recap.values()}
    if len(counts) != 1:
        raise CannotMeasureError(f"the nodes did not run the same tasks: {recap}")
    return counts.pop()


def argv(lab: Lab, names: tuple[str, ...], binary: str, forks: int | None = 25) -> list[str]:
    """The command line of one run."""
    more = ["-f", str(forks)] if forks else []
    return [binary, *lab.layers, "--check", *more, *SKIPPED, "-l", ",".join(names), str(PLAYBOOK)]


def tuned(lab: Lab, peers: Path) -> PeerCost:
    """With pipelining, 25 forks and shared connections."""
    binary = str(peers / "ansible-playbook")
    return cost_per_node(lab, lambda names: argv(lab, names, binary), tasks_per_node, "tasks", env=lab.environment(peers))


def default(lab: Lab, peers: Path) -> PeerCost:
    """With Ansible's defaults: no pipelining, 5 forks."""
    empty = lab.site / "default.cfg"
    empty.write_text("")
    binary = str(peers / "ansible-playbook")
    env = lab.environment(peers, ANSIBLE_CONFIG=str(empty))
    return cost_per_node(lab, lambda names: argv(lab, names, binary, None), tasks_per_node, "tasks", env=env)


def mitogen(lab: Lab, peers: Path) -> PeerCost:
    """As `tuned`, with Mitogen's linear strategy."""
    (plugins,) = peers.parent.glob("lib/python3.*/site-packages/ansible_mitogen/plugins/strategy")
    env = lab.environment(peers, ANSIBLE_STRATEGY_PLUGINS=str(plugins), ANSIBLE_STRATEGY="mitogen_linear")
    binary = str(peers / "ansible-playbook")
    return cost_per_node(lab, lambda names: argv(lab, names, binary), tasks_per_node, "tasks", env=env)
