"""What it costs to apply roles that have nothing to do: on the nodes themselves, and from the controller with the equivalent ansible-playbook command."""

from __future__ import annotations

import statistics
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cpu_cost import require_success, run_command

from clusterctl.adapters.inventory.load import load_nodes
from clusterctl.adapters.on_node.controller_roles import controller_needs
from clusterctl_lab.layout import lab_node

if TYPE_CHECKING:
    from collections.abc import Callable

    from lab_site import Lab
    from targets import Numbers

_SCRIPT = Path(__file__).parent / "on_nodes.py"
_PLAYBOOK = Path(__file__).resolve().parents[1] / "playbooks" / "provision.yml"
# The control group of a lab node counts the CPU of all of its processes.
_NODE_CPU_NS = (
    'cat /sys/fs/cgroup/cpuacct/cpuacct.usage 2> /dev/null || awk \'$1 == "usage_usec" {printf "%d000", $2}\' /sys/fs/cgroup/cpu.stat'
)


@dataclass(frozen=True)
class ApplyCost:
    """CPU and wall time of one way, medians.

    Attributes:
        controller_s: of a further node, the difference between two nodes and one. What `on_nodes.py` uses before the play is subtracted from both, because it
            varies by more than a node costs.
        node_s: on one node, daemons included.
        wall_s: of both nodes at once.
    """

    controller_s: float
    node_s: float
    wall_s: float


@dataclass(frozen=True)
class _Turn:
    """One measurement: CPU of the controller with one node and with both."""

    one_s: float
    both_s: float
    node_s: float
    wall_s: float


def apply_unchanged(lab: Lab, turns: int) -> Numbers:
    """All roles that can run on a node, on nodes in their declared state; both ways in alternation, so that a temporary load affects both."""
    layers = [Path(word) for word in lab.layers if word != "-i"]
    declared = load_nodes(layers, lab.names[0])[0].spec.roles
    roles = [role for role in declared if role not in {r for r, needs in controller_needs(declared).items() if needs.applies(declared[r])}]
    ways: dict[str, Callable[[tuple[str, ...]], list[str]]] = {
        "on_nodes": lambda names: _on_nodes(lab, roles, names),
        "ansible": lambda names: _from_controller(lab, roles, names),
    }
    require_success(run_command(ways["on_nodes"](lab.names), cwd=lab.site, env=lab.environment()), "the first run on the nodes")
    found: dict[str, list[_Turn]] = {name: [] for name in ways}
    for turn in range(turns):
        for name in list(ways) if turn % 2 == 0 else list(ways)[::-1]:
            found[name].append(_measured(lab, name, ways[name]))
    new, old = (_median(found[name]) for name in ("on_nodes", "ansible"))
    return {
        "apply_unchanged_controller_ms_per_node": 1000 * new.controller_s,
        "ratio_apply_unchanged_ansible": old.controller_s / new.controller_s,
        "ratio_apply_node_cpu": new.node_s / old.node_s,
        "ratio_apply_total_cpu": (new.controller_s + new.node_s) / (old.controller_s + old.node_s),
        "ratio_apply_wall": new.wall_s / old.wall_s,
        "apply_unchanged": {"roles": roles, "on_nodes": asdict(new), "ansible": asdict(old)},
    }


def _measured(lab: Lab, name: str, argv_for: Callable[[tuple[str, ...]], list[str]]) -> _Turn:
    controller: list[float] = []
    for names in (lab.names[:1], lab.names):
        before = [_node_cpu_s(lab, n) for n in names]
        ran = require_success(run_command(argv_for(names), cwd=lab.site, env=lab.environment()), name)
        used = [_node_cpu_s(lab, n) - b for n, b in zip(names, before, strict=True)]
        controller.append(ran.cpu_s - (float(ran.out.split()[-1]) if name == "on_nodes" else 0.0))
    return _Turn(controller[0], controller[1], statistics.mean(used), ran.wall_s)


def _median(turns: list[_Turn]) -> ApplyCost:
    one, both, node_s, wall_s = (statistics.median(getattr(t, name) for t in turns) for name in ("one_s", "both_s", "node_s", "wall_s"))
    return ApplyCost(both - one, node_s, wall_s)


def _on_nodes(lab: Lab, roles: list[str], names: tuple[str, ...]) -> list[str]:
    return [sys.executable, str(_SCRIPT), str(lab.site), str(lab.site / "on-nodes"), ",".join(roles), *names]


def _from_controller(lab: Lab, roles: list[str], names: tuple[str, ...]) -> list[str]:
    binary = str(Path(sys.executable).parent / "ansible-playbook")
    return [binary, *lab.layers, "--limit", ",".join(names), "--tags", ",".join(roles), "--forks", "25", str(_PLAYBOOK)]


def _node_cpu_s(lab: Lab, name: str) -> float:
    ran = require_success(
        run_command(["ssh", "-F", str(lab.ssh_config()), lab_node(name).address, _NODE_CPU_NS]), f"the CPU time of {name}"
    )
    return int(ran.out) / 1e9
