"""`ansible-playbook --check` of the roles that the nodes have, as clusterctl checks them: tuned, as it comes, and with Mitogen."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from cpu_cost import CannotMeasureError, Ran
from peer_cost import Cost, per_node

if TYPE_CHECKING:
    from lab_site import Lab

PLAYBOOK = Path(__file__).resolve().parents[1] / "playbooks" / "provision.yml"
# the role bios asks BMCs, and replaying nodes have none
SKIPPED = ("--skip-tags", "bios")
_RECAP = re.compile(r"^(\S+)\s+: ok=(\d+)\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)\s+skipped=(\d+)", re.MULTILINE)


def tasks_per_node(ran: Ran, names: tuple[str, ...]) -> int:
    """The tasks of each node, run or skipped by a condition.

    Raises:
        CannotMeasureError: a node is missing, failed, or would be changed: then it is not the same content.
    """
    recap = {m[1]: [int(n) for n in m.groups()[1:]] for m in _RECAP.finditer(ran.out)}
    if set(recap) != set(names):
        raise CannotMeasureError(f"the recap has {sorted(recap)}, not {sorted(names)}: {ran.out[-500:]}")
    if any(sum(row[1:4]) for row in recap.values()):
        raise CannotMeasureError(f"the nodes are not in their declared state: {recap}")
    counts = {row[0] + row[4] for row in recap.values()}
    if len(counts) != 1:
        raise CannotMeasureError(f"not the same tasks for each node: {recap}")
    return counts.pop()


def argv(lab: Lab, names: tuple[str, ...], binary: str, forks: int | None = 25) -> list[str]:
    """The command line."""
    more = ["-f", str(forks)] if forks else []
    return [binary, *lab.layers, "--check", *more, *SKIPPED, "-l", ",".join(names), str(PLAYBOOK)]


def tuned(lab: Lab, peers: Path) -> Cost:
    """With pipelining, 25 forks and shared connections."""
    binary = str(peers / "ansible-playbook")
    return per_node(lab, lambda names: argv(lab, names, binary), tasks_per_node, "tasks", env=lab.environment(peers))


def default(lab: Lab, peers: Path) -> Cost:
    """With Ansible's own defaults: no pipelining, 5 forks."""
    empty = lab.site / "default.cfg"
    empty.write_text("")
    binary = str(peers / "ansible-playbook")
    env = lab.environment(peers, ANSIBLE_CONFIG=str(empty))
    return per_node(lab, lambda names: argv(lab, names, binary, None), tasks_per_node, "tasks", env=env)


def mitogen(lab: Lab, peers: Path) -> Cost:
    """Tuned, with Mitogen's linear strategy."""
    (plugins,) = peers.parent.glob("lib/python3.*/site-packages/ansible_mitogen/plugins/strategy")
    env = lab.environment(peers, ANSIBLE_STRATEGY_PLUGINS=str(plugins), ANSIBLE_STRATEGY="mitogen_linear")
    binary = str(peers / "ansible-playbook")
    return per_node(lab, lambda names: argv(lab, names, binary), tasks_per_node, "tasks", env=env)
